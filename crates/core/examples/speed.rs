//! dev bench
use std::time::Duration;
#[derive(Clone,Copy)] struct Instant(u64);
impl Instant { fn now()->Self { let t=std::fs::read_to_string("/proc/thread-self/schedstat").unwrap(); Self(t.split(' ').next().unwrap().parse().unwrap()) } fn elapsed(self)->Duration { Duration::from_nanos(Self::now().0-self.0) } }
impl std::ops::Sub for Instant { type Output=Duration; fn sub(self,o:Self)->Duration { Duration::from_nanos(self.0-o.0) } }
use toksmith_core::{*, encode::*, special::*, split::*, vocab::*, parallel::*, cache::*};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let langs = args.get(2).cloned().unwrap_or("english,code,chinese,japanese,korean,russian,hindi,arabic,european".into());
    for enc in args[1].split(',') {
        let (file, pat) = match enc { "r50k" => ("r50k_base","gpt2"), "cl100k"=>("cl100k_base","cl100k"), "o200k"=>("o200k_base","o200k"), _=>("llama3","llama3")};
        let data = std::fs::read(format!("/work/shared/vocab/{file}.tiktoken")).unwrap();
        let t0 = Instant::now();
        let t = table::parse_tiktoken(&data).unwrap();
        let t1 = Instant::now();
        let v = Vocab::new(Unit::Byte, MergeRule::Bytes, true, Tables{blob:&t.blob, ends:&t.ends, ids:&t.ids, merges:&[]}).unwrap();
        let t2 = Instant::now();
        let m = Memory::default();
        println!("{enc} parse {:?} vocab {:?} memory {:?}", t1-t0, t2-t1, t2.elapsed());
        drop(m);
        let row = pattern::PATTERNS.iter().find(|r| r.name==pat).unwrap();
        let e = Encoder { vocab: std::sync::Arc::new(v), added: AddedTokens::new(vec![]).unwrap(), splitter: Splitter::new(row.regexes).unwrap() };
        for lang in langs.split(',') {
            let text = std::fs::read(format!("/tmp/corp/{lang}")).unwrap();
            let docs: Vec<&[u8]> = text.split(|&b| b==0).collect();
            let n: usize = docs.iter().map(|d| d.len()).sum();
            let stop = Stop::default();
            let mut pieces = 0usize;
            let s = Instant::now();
            for d in &docs { e.splitter.split(d, |_p| {pieces+=1; Ok(())}).unwrap(); }
            let scan = s.elapsed();
            let mut session = Session { memory: Memory::default(), scratch: Default::default() };
            let mut times = vec![];
            let mut total = 0; let mut h = 0u64;
            for _ in 0..std::env::var("ROUNDS").map_or(4, |v| v.parse().unwrap()) {
                total = 0; h = 0;
                let s = Instant::now();
                for d in &docs { let mut out = Vec::with_capacity(d.len()/3+16); e.encode_with(d, &Allow::Text, &stop, &mut session, &mut out).unwrap(); total += out.len(); h = h.wrapping_mul(31).wrapping_add(out.last().copied().unwrap_or(0) as u64 + out.len() as u64); }
                times.push(s.elapsed().as_secs_f64());
            }
            let mut ok = "";
            if args.len() > 3 {
                let mut scratch = Default::default();
                for d in &docs { let mut a = vec![]; let mut b = vec![]; e.encode_with(d,&Allow::Text,&stop,&mut session,&mut a).unwrap(); e.encode(d,&Allow::Text,&stop,&mut scratch,&mut b).unwrap(); assert_eq!(a,b); }
                ok = "equal";
            }
            println!("{enc} {lang:9} MB {:.1} pieces {:.2}M ids {:.2}M | scan {:.0} | cold {:.0} hot {:.0} MB/s | hot ns/piece {:.1} {ok}", n as f64/1e6, pieces as f64/1e6, total as f64/1e6, n as f64/1e6/scan.as_secs_f64(), n as f64/1e6/times[0], n as f64/1e6/times.iter().copied().fold(1e9,f64::min), times.iter().copied().fold(1e9,f64::min)*1e9/pieces as f64);
        }
    }
}
