//! Which properties of Unicode Oniguruma and the `regex` crate agree on, for every code point.

/// Their names, in lower case and without separators, sorted; a test holds both engines to each.
const SHARED: &str = "\
    adlam adlm aghb ahex ahom alpha alphabetic anatolianhieroglyphs arab arabic armenian armi armn ascii \
    asciihexdigit assigned avestan avst bali balinese bamu bamum bass bassavah batak batk beng bengali bhaiksuki \
    bhks bidic bidicontrol bopo bopomofo brah brahmi brai braille bugi buginese buhd buhid c cakm canadianaboriginal \
    cans cari carian cased casedletter caseignorable caucasianalbanian cc cf chakma cham changeswhencasefolded \
    changeswhencasemapped changeswhenlowercased changeswhentitlecased changeswhenuppercased cher cherokee chorasmian \
    chrs ci closepunctuation cn cntrl co combiningmark common connectorpunctuation control copt coptic cpmn cprt \
    cuneiform currencysymbol cwcf cwcm cwl cwt cwu cypriot cyprominoan cyrillic cyrl dash dashpunctuation \
    decimalnumber defaultignorablecodepoint dep deprecated deseret deva devanagari di dia diacritic diak digit \
    divesakuru dogr dogra dsrt dupl duployan ebase ecomp egyp egyptianhieroglyphs elba elbasan elym elymaic emod \
    emoji emojicomponent emojimodifier emojimodifierbase emojipresentation enclosingmark epres ethi ethiopic ext \
    extendedpictographic extender extpict finalpunctuation format gara garay geor georgian glag glagolitic gong gonm \
    goth gothic gran grantha graphemebase graphemeextend graphemelink grbase greek grek grext grlink gujarati gujr \
    gukh gunjalagondi gurmukhi guru gurungkhema han hang hangul hani hanifirohingya hano hanunoo hatr hatran hebr \
    hebrew hex hexdigit hira hiragana hluw hmng hmnp hung hyphen idc idcompatmathcontinue idcompatmathstart \
    idcontinue ideo ideographic ids idsb idsbinaryoperator idst idstart idstrinaryoperator idsu idsunaryoperator \
    imperialaramaic inherited initialpunctuation inscriptionalpahlavi inscriptionalparthian ital java javanese joinc \
    joincontrol kaithi kali kana kannada katakana kawi kayahli khar kharoshthi khitansmallscript khmer khmr khoj \
    khojki khudawadi kiratrai kits knda krai kthi l lana lao laoo latin latn lc lepc lepcha letter letternumber limb \
    limbu lina linb lineara linearb lineseparator lisu ll lm lo loe logicalorderexception lower lowercase \
    lowercaseletter lt lu lyci lycian lydi lydian m mahajani mahj maka makasar malayalam mand mandaic mani \
    manichaean marc marchen mark masaramgondi math mathsymbol mc mcm me medefaidrin medf meeteimayek mend \
    mendekikakui merc mero meroiticcursive meroitichieroglyphs miao mlym mn modi modifiercombiningmark \
    modifierletter modifiersymbol mong mongolian mro mroo mtei mult multani myanmar mymr n nabataean nagm nagmundari \
    nand nandinagari narb nbat nchar nd newa newtailue nko nkoo nl no noncharactercodepoint nonspacingmark nshu \
    number nushu nyiakengpuachuehmong oalpha odi ogam ogham ogrext oidc oids olchiki olck oldhungarian olditalic \
    oldnortharabian oldpermic oldpersian oldsogdian oldsoutharabian oldturkic olduyghur olonal olower omath onao \
    openpunctuation oriya orkh orya osage osge osma osmanya other otheralphabetic otherdefaultignorablecodepoint \
    othergraphemeextend otheridcontinue otheridstart otherletter otherlowercase othermath othernumber \
    otherpunctuation othersymbol otheruppercase ougr oupper p pahawhhmong palm palmyrene paragraphseparator patsyn \
    patternsyntax patternwhitespace patws pauc paucinhau pc pcm pd pe perm pf phag phagspa phli phlp phnx phoenician \
    pi plrd po prependedconcatenationmark privateuse prti ps psalterpahlavi punct punctuation qaac qaai qmark \
    quotationmark radical regionalindicator rejang ri rjng rohg runic runr s samaritan samr sarb saur saurashtra sc \
    sd sentenceterminal separator sgnw sharada shavian shaw shrd sidd siddham signwriting sind sinh sinhala sk sm so \
    softdotted sogd sogdian sogo sora sorasompeng soyo soyombo space spaceseparator spacingmark sterm sund sundanese \
    sunu sunuwar sylo sylotinagri symbol syrc syriac tagalog tagb tagbanwa taile taitham taiviet takr takri tale \
    talu tamil taml tang tangsa tangut tavt telu telugu term terminalpunctuation tfng tglg thaa thaana thai tibetan \
    tibt tifinagh tirh tirhuta titlecaseletter tnsa todhri todr toto tulutigalari tutg ugar ugaritic uideo \
    unassigned unifiedideograph upper uppercase uppercaseletter vai vaii variationselector vith vithkuqi vs wancho \
    wara warangciti wcho whitespace wspace xidc xidcontinue xids xidstart xpeo xsux yezi yezidi yi yiii z \
    zanabazarsquare zanb zinh zl zp zs zyyy";

/// The properties that the `regex` crate has under another name or not at all, and the class that each is there.
const OTHER: &[(&str, &str)] = &[
    ("alnum", r"[\p{Alphabetic}\p{Nd}]"),
    ("any", r"[\x{0}-\x{10FFFF}]"),
    ("blank", r"[\t\p{Zs}]"),
    ("graph", r"[^\s\p{Cc}\p{Cn}]"),
    ("posixpunct", r"[\p{P}\p{S}]"),
    ("print", r"[\p{Zs}[^\s\p{Cc}\p{Cn}]]"),
    ("word", WORD),
    ("xdigit", "[0-9A-Fa-f]"),
];

/// What `\w` is in a class. Outside of one it also holds what [`LATIN_NUMBERS`] holds.
pub const WORD: &str = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}]";

/// What `\w` and word boundaries hold outside of a class and [`WORD`] does not: Oniguruma asks a table of Latin-1 there.
pub const LATIN_NUMBERS: &str = "²³¹¼½¾";

/// The class of a property, in the notation of the `regex` crate: `\p{Lu}` for `Lu`. `None` if the engines differ about
/// it, or one of them does not have it.
#[must_use]
pub fn property(name: &str) -> Option<String> {
    let key: String = name.chars().filter(|char| !matches!(char, ' ' | '-' | '_')).collect();
    let key = key.to_ascii_lowercase();
    if let Some((_, class)) = OTHER.iter().find(|(other, _)| *other == key) {
        return Some((*class).to_owned());
    }
    let spelling = if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) { name } else { &key };
    shared().any(|shared| shared == key).then(|| format!(r"\p{{{spelling}}}"))
}

/// The class of a bracket such as `[:alpha:]`.
#[must_use]
pub fn bracket(name: &str) -> Option<String> {
    let property_of = match name {
        "punct" => "posixpunct",
        "alnum" | "alpha" | "ascii" | "blank" | "cntrl" | "digit" | "graph" | "lower" | "print" | "space" | "upper"
        | "word" | "xdigit" => name,
        _ => return None,
    };
    property(property_of)
}

/// The names of `SHARED`.
pub fn shared() -> impl Iterator<Item = &'static str> {
    SHARED.split_ascii_whitespace()
}
