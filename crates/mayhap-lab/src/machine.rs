//! The class of machine that the numbers were measured on, not which one.

use std::fs::read_to_string;

use mayhap_program::amounts::show_bytes;

/// Describes it in one line: processor, cores, caches, memory. Leaves out what the system does not report.
///
/// ```
/// assert!(mayhap_lab::machine::class().contains(std::env::consts::ARCH));
/// ```
pub fn class() -> String {
    let mut facts = Vec::new();
    facts.extend(field("/proc/cpuinfo", "model name"));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    facts.push(format!(
        "{cores} {}",
        if cores == 1 { "core" } else { "cores" }
    ));
    facts.extend(caches());
    let memory = field("/proc/meminfo", "MemTotal");
    let kibibytes = memory.and_then(|text| text.split(' ').next()?.parse::<u64>().ok());
    facts.extend(kibibytes.map(|size| format!("{} of memory", show_bytes(size << 10))));
    facts.push(format!(
        "{} {}",
        std::env::consts::ARCH,
        std::env::consts::OS
    ));
    facts.join(", ")
}

/// The value of the first `name : value` line of a file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = read_to_string(path).ok()?;
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(key, _)| key.trim() == name)?;
    Some(value.trim().to_owned())
}

/// The data caches of the first core, as `L1 32K, L2 1024K, L3 32768K`.
fn caches() -> Vec<String> {
    let read = |index: u32, name: &str| {
        let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
        read_to_string(path).map(|text| text.trim().to_owned()).ok()
    };
    let cache = |index| {
        let (level, size) = (read(index, "level")?, read(index, "size")?);
        (read(index, "type")? != "Instruction").then(|| format!("L{level} {size}"))
    };
    (0..8).filter_map(cache).collect()
}
