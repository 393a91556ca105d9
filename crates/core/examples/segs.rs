//! dev
use toksmith_core::{*, split::*, vocab::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (file, pat) = match args[1].as_str() { "r50k" => ("r50k_base","gpt2"), "cl100k"=>("cl100k_base","cl100k"), "o200k"=>("o200k_base","o200k"), _=>("llama3","llama3")};
    let data = std::fs::read(format!("/work/shared/vocab/{file}.tiktoken")).unwrap();
    let t = table::parse_tiktoken(&data).unwrap();
    let v = Vocab::new(Unit::Byte, MergeRule::Bytes, true, Tables{blob:&t.blob, ends:&t.ends, ids:&t.ids, merges:&[]}).unwrap();
    let row = pattern::PATTERNS.iter().find(|r| r.name==pat).unwrap();
    let sp = Splitter::new(row.regexes).unwrap();
    let text = std::fs::read(format!("/tmp/corp/{}", args[2])).unwrap();
    let mut by_len = [0usize; 8]; let mut bytes = [0usize; 8]; let mut pieces=[0usize;3]; let mut pb=[0usize;3];
    let mut uniq = std::collections::HashSet::new(); let mut nseg=0usize; let mut useg=std::collections::HashSet::new();
    for d in text.split(|&b| b==0) {
        sp.split(d, |p| {
            let k = if v.id(p).is_some() {0} else if p.len()<=31 {1} else {2};
            pieces[k]+=1; pb[k]+=p.len();
            if k>0 { let new = uniq.insert(p.to_vec()); if new { let mut at=0; while at<p.len() { let e=v.crossings().next_cut(p, at, p.len()); let l=e-at; let b=(l/8).min(7); by_len[b]+=1; bytes[b]+=l; nseg+=1; useg.insert(p[at..e].to_vec()); at=e; } } }
            Ok(()) }).unwrap();
    }
    println!("pieces token/short/long {:?} bytes {:?} unique non-token {} segs {} unique {} ; seg by len/8 {:?} bytes {:?}", pieces, pb, uniq.len(), nseg, useg.len(), by_len, bytes);
}
