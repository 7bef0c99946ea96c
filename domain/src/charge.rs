//! How many devices a pod is charged for (case 2).

/// A container's ask for one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Init {
    /// Devices asked for.
    pub amount: u32,
    /// An init container with `restartPolicy: Always` stays: a sidecar.
    pub sidecar: bool,
}

/// What ResourceQuota and the scheduler charge: the larger of all that runs in the end, and the largest moment
/// of the start. A sidecar counts from its place in the list on
/// (Kubernetes `component-helpers/resource/helpers.go`, `PodRequests`). Pod overhead holds no devices.
#[must_use]
pub fn charged(inits: &[Init], containers: &[u32]) -> u32 {
    let (mut sidecars, mut peak) = (0, 0);
    for init in inits {
        if init.sidecar {
            sidecars += init.amount;
            peak = peak.max(sidecars);
        } else {
            peak = peak.max(init.amount + sidecars);
        }
    }
    peak.max(containers.iter().sum::<u32>() + sidecars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_02_effective_amounts() {
        let plain = |amount| Init { amount, sidecar: false };
        let side = |amount| Init { amount, sidecar: true };
        for (name, inits, containers, want) in [
            ("p1", vec![plain(4)], vec![2], 4),
            ("p2", vec![plain(2), plain(2)], vec![2], 2),
            ("p3", vec![plain(4), side(1)], vec![2], 4),
            ("p4", vec![side(1), plain(4)], vec![2], 5),
            ("p5", vec![side(1), side(1)], vec![1, 1], 4),
            ("p6", vec![plain(0)], vec![3, 3], 6),
            ("p7", vec![side(8)], vec![8], 16),
        ] {
            assert_eq!(charged(&inits, &containers), want, "{name}");
        }
    }
}
