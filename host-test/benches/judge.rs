//! Criterion's view of one whole judgement as native code: `cargo bench --package floodmark-host`.

#![allow(missing_docs, reason = "criterion's macros make public functions")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use floodmark_core::Hint;
use floodmark_host::bench::body::{Kind, chat};
use floodmark_host::bench::{SIZES, judge};

fn judgement(criterion: &mut Criterion) {
    let judge = judge().expect("the shipped policy is valid");
    let mut group = criterion.benchmark_group("judge");
    for kind in Kind::ALL {
        for (bytes, size) in SIZES {
            let body = chat(kind, bytes);
            assert_eq!(judge.judge(body.as_bytes(), Hint::default()).verdict.name(), kind.verdict());
            group.throughput(Throughput::Bytes(bytes as u64));
            group.bench_with_input(BenchmarkId::new(kind.name(), size), body.as_bytes(), |bencher, body| {
                bencher.iter(|| judge.judge(black_box(body), Hint::default()));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, judgement);
criterion_main!(benches);
