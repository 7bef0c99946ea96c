//! The NCCL environment of a pod, derived from what the team was granted.
//!
//! What is not set matters as much: no HCA names (a pod with VFs sees only its own), no `NCCL_IB_PKEY` (it is an index
//! into the port's table, and the team's key is at index 0), no forced network where the pod has none.

use std::{collections::BTreeMap, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A version of NCCL; what is written depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NcclVersion {
    /// 2 in `2.27`.
    pub major: u16,
    /// 27 in `2.27`.
    pub minor: u16,
}

/// The text is not a version of NCCL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a version of NCCL; write it as `2.27`")]
pub struct NcclVersionError(String);

impl FromStr for NcclVersion {
    type Err = NcclVersionError;
    fn from_str(text: &str) -> Result<Self, NcclVersionError> {
        let read = || {
            let (major, rest) = text.split_once('.')?;
            let minor = rest.split('.').next()?;
            Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
        };
        read().ok_or_else(|| NcclVersionError(text.to_owned()))
    }
}

impl TryFrom<String> for NcclVersion {
    type Error = NcclVersionError;
    fn try_from(text: String) -> Result<Self, NcclVersionError> {
        text.parse()
    }
}

impl From<NcclVersion> for String {
    fn from(version: NcclVersion) -> String {
        version.to_string()
    }
}

impl fmt::Display for NcclVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.major, self.minor)
    }
}

/// What a pod has to communicate with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Whole GPUs and VFs of an InfiniBand partition.
    InfiniBand {
        /// GPUs of one pod.
        gpus: u32,
        /// VFs of one pod.
        vfs: u32,
        /// Whether GPU and VF are on one NUMA node for certain.
        numa_aligned: bool,
        /// Service level that the site prescribes.
        service_level: Option<u8>,
    },
    /// Whole GPUs without fabric: one node.
    SingleNode,
    /// A slice or a share: it has no peers, so NCCL has nothing to be told.
    Alone,
}

/// The variables of a pod, by name.
#[must_use]
pub fn environment(profile: Profile, version: NcclVersion) -> BTreeMap<&'static str, String> {
    match profile {
        Profile::InfiniBand { gpus, vfs, numa_aligned, service_level } => {
            let mut variables = infiniband();
            // A VF on the other socket is past the default distance, and GPUDirect would be off without a word.
            if gpus == 1 && vfs == 1 && !numa_aligned {
                variables.insert("NCCL_NET_GDR_LEVEL", "SYS".to_owned());
            }
            // From 2.30 on a rank that fell back to another network is tolerated unless this says no.
            if gpus >= 8 && vfs >= 8 && version >= (NcclVersion { major: 2, minor: 30 }) {
                variables.insert("NCCL_IGNORE_NET_MISMATCH", "0".to_owned());
            }
            if let Some(level) = service_level {
                variables.insert("NCCL_IB_SL", level.to_string());
            }
            variables
        }
        // No network by name here: a forced InfiniBand fails in a pod without HCA.
        Profile::SingleNode => common(),
        Profile::Alone => BTreeMap::new(),
    }
}

fn common() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("NCCL_DEBUG", "WARN".to_owned()),
        // `=` asks for exactly this name, a bare one is a prefix. The interfaces of VFs have no address.
        ("NCCL_SOCKET_IFNAME", "=eth0".to_owned()),
    ])
}

fn infiniband() -> BTreeMap<&'static str, String> {
    let mut variables = common();
    variables.extend([
        ("NCCL_NET", "IB".to_owned()),
        ("NCCL_SOCKET_FAMILY", "AF_INET".to_owned()),
        // Gloo and Open MPI take plain names.
        ("GLOO_SOCKET_IFNAME", "eth0".to_owned()),
        ("OMPI_MCA_btl_tcp_if_include", "eth0".to_owned()),
        ("OMPI_MCA_oob_tcp_if_include", "eth0".to_owned()),
    ]);
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_27: NcclVersion = NcclVersion { major: 2, minor: 27 };

    fn ib(gpus: u32, vfs: u32) -> Profile {
        Profile::InfiniBand { gpus, vfs, numa_aligned: false, service_level: None }
    }

    #[test]
    fn case_28_the_interface_is_named_exactly_and_has_an_address() {
        for profile in [ib(8, 8), ib(1, 1), Profile::SingleNode] {
            assert_eq!(environment(profile, V2_27)["NCCL_SOCKET_IFNAME"], "=eth0");
        }
    }

    #[test]
    fn case_32_no_index_and_no_key_and_no_adapter() {
        for profile in [ib(8, 8), Profile::SingleNode, Profile::Alone] {
            for name in environment(profile, V2_27).keys() {
                assert!(
                    !["NCCL_IB_PKEY", "UCX_IB_PKEY", "NCCL_IB_HCA", "NCCL_HOSTID"].contains(name),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn one_node_is_told_no_network_and_a_slice_is_told_nothing() {
        assert!(!environment(Profile::SingleNode, V2_27).contains_key("NCCL_NET"));
        assert!(environment(Profile::Alone, V2_27).is_empty());
    }

    #[test]
    fn what_depends_on_the_pod_the_version_and_the_site() {
        assert_eq!(environment(ib(1, 1), V2_27)["NCCL_NET_GDR_LEVEL"], "SYS");
        let aligned = Profile::InfiniBand { gpus: 1, vfs: 1, numa_aligned: true, service_level: Some(3) };
        let variables = environment(aligned, V2_27);
        assert!(!variables.contains_key("NCCL_NET_GDR_LEVEL"));
        assert_eq!(variables["NCCL_IB_SL"], "3");
        assert!(!environment(ib(8, 8), V2_27).contains_key("NCCL_IGNORE_NET_MISMATCH"));
        let newer = NcclVersion { major: 2, minor: 30 };
        assert_eq!(environment(ib(8, 8), newer)["NCCL_IGNORE_NET_MISMATCH"], "0");
    }

    #[test]
    fn versions() {
        assert_eq!("2.27.5".parse::<NcclVersion>().unwrap(), V2_27);
        assert!("2.30".parse::<NcclVersion>().unwrap() > V2_27);
        for bad in ["", "2", "2.", "two.three", "-1.2"] {
            assert!(bad.parse::<NcclVersion>().is_err(), "{bad}");
        }
    }
}
