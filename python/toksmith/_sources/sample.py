"""Texts on which tokenizers differ: what a conversion is tried on when no corpus is given."""

from __future__ import annotations

__all__ = ["SAMPLE"]

SAMPLE = (
    "",
    "Hello, world! It's the tokenizers' first text; they'll see, won't they? I'M SURE IT'S SO.",
    "a  b   c    d\t\te \n\n f\r\n\r\ng\n  ",
    " leading, trailing ",
    "\n",
    "   \n \t \n",
    "x\n  ",
    "a" * 300,
    " " * 200 + "x",
    "=" * 77 + "\n" + "-" * 40,
    "1 12 123 1234 12345 1234567 3.14159 1,000,000 0x1F4A9 2026-11-21 ½ ² Ⅷ ١٢٣ १२३",
    "camelCase HTTPServer snake_case kebab-case UPPER lower Title iPhone McDonald's",
    "def f(x):\n\tif x > 0:\n\t\treturn {'a': [1, 2], \"b\": x ** 2}  # comment\n\n\n    pass\n",
    '<html><body class="a">&amp;</body></html> // /* */ ;;; ))) }}} >>> ... ---',
    "https://example.org/a/b?c=d&e=f#g user@example.org C:\\Users\\x $HOME 100% #tag",
    "café cafe\u0301 naïve Straße ŒUVRE İstanbul ıŞİ ǆ ﬁ ﬀ ß ẞ",
    "it\u017f \u212a \u2019s don\u2019t \u201cquoted\u201d \u2014 dash\u2026",
    "Привет, мир! Ещё раз: съешь же этих мягких французских булок.",
    "Γειά σου Κόσμε. שלום עולם. مرحبا بالعالم، كيف الحال؟",
    "हिन्दी में लिखा हुआ पाठ। বাংলা தமிழ் ไทยไม่มีช่องว่าง",
    "中文分词没有空格，所以很难。日本語の文章です。カタカナとｶﾅ。한국어 문장입니다.",
    "😀 👍🏽 👨‍👩‍👧‍👦 🇫🇷 ❤️ ☀ \U0001f9d1\u200d\U0001f4bb",
    "\u00a0\u2003\u3000\u200b\ufeff\u00ad\u2028\u2029\u0085",
    "NUL \0 bell \x07 escape \x1b[0m delete \x7f",
    "\u0300\u0301 e\u0323\u0302 \U00011de0 \U0001fae8 \U000e0041",
    "\ufffd \ue000 \U0010ffff \ud800 \udc00 \ud83d\ude00",
    "<|endoftext|> <s> </s> [INST] <unk> <0x41> ▁ ▁▁ ▁a Ġ Ċ",
    "the the the the the the the the the the the the the the",
    "supercalifragilisticexpialidocious antidisestablishmentarianism " * 5,
    "abababababababababababab aabaabaabaab",
)
