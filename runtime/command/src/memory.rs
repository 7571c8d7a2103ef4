//! Determines how much memory a run may use if the user does not set a limit.

use std::fs::read_to_string;
use std::path::Path;

/// A run leaves a fraction of the memory unused. This number is the reciprocal of the fraction.
const RESERVED: u64 = 10;

/// Returns the number of bytes that this process can still allocate, or `None` if the system does
/// not report it. A run that needs more memory is rejected before it starts.
///
/// The result is the smallest of three numbers: the available memory of the machine, the memory
/// that the control groups of the process allow, and the part of the address space that `ulimit -v`
/// still allows. Control groups limit containers. If the process uses more memory than the machine
/// or its control groups allow, the system kills the process. If the process exceeds its address
/// space, an allocation fails. A tenth of the result is left to threads, libraries and other
/// programs.
pub fn available() -> Option<u64> {
    let machine = read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| of_machine(&text));
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let container = of_groups(&groups, Path::new("/sys/fs/cgroup"));
    let limits = read_to_string("/proc/self/limits").ok();
    let status = read_to_string("/proc/self/status").ok();
    let process = limits
        .zip(status)
        .and_then(|(limits, status)| of_process(&limits, &status));
    let least = machine.into_iter().chain(container).chain(process).min();
    least.map(|bytes| bytes - bytes / RESERVED)
}

/// Returns the number of bytes of address space that are left below the soft limit. The arguments
/// are the texts of `/proc/self/limits` and `/proc/self/status`.
fn of_process(limits: &str, status: &str) -> Option<u64> {
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let limit: u64 = line.split_whitespace().next()?.parse().ok()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let used: u64 = used.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(limit.saturating_sub(used * 1024))
}

/// Returns the available memory of the machine in bytes. The argument is the text of
/// `/proc/meminfo`.
fn of_machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the smallest memory limit among some control groups and their parent groups. `text`
/// lists the groups in the format of `/proc/self/cgroup`. The files of the groups are below the
/// folder `root`.
///
/// A line of `text` has the form `id:controllers:path`. In version 2, the text has a single line
/// without controllers. In version 1, one of the lines is for memory. In a container, the path may
/// be the path of the group on the host. If the path does not exist in the container, the limit of
/// `root` is used.
fn of_groups(text: &str, root: &Path) -> Option<u64> {
    let limit = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => (root.to_path_buf(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = root.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|folder| folder.starts_with(&root));
        around
            .filter_map(|folder| read_to_string(folder.join(file)).ok()?.trim().parse().ok())
            .min()
    };
    text.lines().filter_map(limit).min()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::fs;

    /// Writes files into a separate folder. The test removes this folder.
    fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
        let root = std::env::temp_dir().join(format!("bnnc-memory-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn limit(name: &str, groups: &str, files: &[(&str, &str)]) -> Option<u64> {
        let root = folder(name, files);
        let found = of_groups(groups, &root);
        let _ = fs::remove_dir_all(root);
        found
    }

    #[test]
    fn the_memory_of_the_machine_is_read() {
        let text = "MemTotal:       16384 kB\nMemFree:  5 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(of_machine(text), Some(2 << 20));
        assert_eq!(of_machine("MemTotal: 16384 kB\n"), None);
        assert_eq!(of_machine("MemAvailable: much kB\n"), None);
    }

    #[test]
    fn the_remaining_address_space_is_a_limit() {
        let limits = |value: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units\nMax address space         {value}           unlimited            bytes\n"
            )
        };
        let status = "Name:\tbnnc\nVmPeak:\t    2000 kB\nVmSize:\t    1000 kB\n";
        assert_eq!(of_process(&limits("6144000"), status), Some(5_120_000));
        assert_eq!(of_process(&limits("500"), status), Some(0));
        assert_eq!(of_process(&limits("unlimited"), status), None);
        assert_eq!(of_process("", status), None);
    }

    #[test]
    fn the_smallest_limit_of_a_version_2_group_and_its_parents_counts() {
        let files = [
            ("memory.max", "max\n"),
            ("a/memory.max", "1000000\n"),
            ("a/b/memory.max", "3000000\n"),
            ("memory/memory.limit_in_bytes", "5\n"),
        ];
        assert_eq!(limit("v2", "0::/a/b\n", &files), Some(1_000_000));
        assert_eq!(limit("v2-outer", "0::/\n", &files), None);
    }

    #[test]
    fn the_limit_of_version_1_counts() {
        let files = [
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("memory/job/memory.limit_in_bytes", "2000000\n"),
            ("memory.max", "5\n"),
        ];
        let groups = "9:cpu,cpuacct:/job\n4:hugetlb,memory:/job\n1:name=systemd:/\n";
        assert_eq!(limit("v1", groups, &files), Some(2_000_000));
    }

    #[test]
    fn a_path_of_the_host_falls_back_to_the_root_of_the_container() {
        let files = [("memory/memory.limit_in_bytes", "700\n"), ("memory.max", "900\n")];
        assert_eq!(limit("docker", "4:memory:/docker/0123\n", &files), Some(700));
        assert_eq!(limit("podman", "0::/../../x\n", &files), Some(900));
    }

    #[test]
    fn without_groups_there_is_no_limit() {
        assert_eq!(limit("none", "", &[("memory.max", "5\n")]), None);
        assert_eq!(limit("odd", "no group\n0::/gone\n", &[("x", "")]), None);
        assert_eq!(limit("damaged", "0::/\n", &[("memory.max", "-1 kB\n")]), None);
    }
}
