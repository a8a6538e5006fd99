//! Memory of the Envoy process, and of the wasm VMs in it. Envoy counts neither, so this reads Linux' own tables.

use anyhow::{Context as _, ensure};

use super::Envoy;

/// V8 sets aside this much address space for each wasm memory: what the module has is readable, the rest behind it is not, so that no access
/// needs a check.
const RESERVED_BYTES: u64 = 8 << 30;

impl Envoy {
    /// Bytes of linear memory that all wasm VMs have together, in memories of their own.
    ///
    /// # Errors
    /// When the process is gone, or its table shows no wasm memory.
    pub fn wasm_memory_bytes(&self) -> anyhow::Result<u64> {
        let path = format!("/proc/{}/maps", self.id());
        let maps = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let memories = wasm_memories(&maps);
        ensure!(!memories.is_empty(), "no wasm memory in {path}: this V8 lays them out in another way");
        Ok(memories.iter().sum())
    }

    /// Anonymous resident memory of the whole process; `None` where the system does not tell.
    #[must_use]
    pub fn anonymous_bytes(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    }
}

/// Sizes of all wasm memories in a table of mappings.
fn wasm_memories(maps: &str) -> Vec<u64> {
    let mappings: Vec<_> = maps.lines().filter_map(mapping).collect();
    let pairs = mappings.windows(2).filter_map(|pair| <[_; 2]>::try_from(pair.to_vec()).ok());
    let memory = |[(start, end, rights), (next, last, behind)]: [(u64, u64, &str); 2]| {
        let is_one = rights == "rw-p" && behind == "---p" && next == end && last - start == RESERVED_BYTES;
        is_one.then_some(end - start)
    };
    pairs.filter_map(memory).collect()
}

/// Start, end and rights of a line such as `7f71dcd80000-7f71dced0000 rw-p 00000000 00:00 0`.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::wasm_memories;

    #[test]
    fn memories_are_told_by_the_space_behind_them() {
        // Lines of a real Envoy 1.40: a heap, two wasm memories of 21 pages, a stack, code.
        let maps = "2517fe00000-25180000000 rw-p 00000000 00:00 0\n\
                    7f71dcd80000-7f71dced0000 rw-p 00000000 00:00 0 \n\
                    7f71dced0000-7f73dcd80000 ---p 00000000 00:00 0 \n\
                    7f73dcd80000-7f73dced0000 rw-p 00000000 00:00 0 \n\
                    7f73dced0000-7f75dcd80000 ---p 00000000 00:00 0 \n\
                    7f760cd88000-7f760d588000 rw-p 00000000 00:00 0 \n\
                    7f760d5a8000-7f761d588000 ---p 00000000 00:00 0 \n\
                    7f761d5c0000-7f763d580000 rwxp 00000000 00:00 0 \n";
        assert_eq!(wasm_memories(maps), [21 * 65_536; 2]);
        assert_eq!(wasm_memories(""), [0; 0]);
    }
}
