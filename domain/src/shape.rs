//! Shapes: nodes × devices per node, answered from what single nodes can still give.

use serde::{Deserialize, Serialize};

/// A wish that looks like "2 × 8": two nodes with eight devices each. "Anywhere" is n × 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Blocks; each lies on one node.
    pub nodes: u32,
    /// Devices in a block.
    pub per_node: u32,
}

impl Shape {
    /// Devices in all; saturates, so that no input can overflow.
    #[must_use]
    pub fn amount(self) -> u32 {
        self.nodes.saturating_mul(self.per_node)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.nodes == 1 {
            write!(f, "{}", self.per_node)
        } else {
            write!(f, "{} × {}", self.nodes, self.per_node)
        }
    }
}

/// What the nodes of a pool can give of one resource: devices per node.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Blocks {
    /// Devices that each ready node has in all.
    pub sizes: Vec<u32>,
    /// Devices that each ready node has free now; the same order.
    pub free: Vec<u32>,
}

impl Blocks {
    /// Largest block that any node could ever give.
    #[must_use]
    pub fn largest(&self) -> u32 {
        self.sizes.iter().copied().max().unwrap_or(0)
    }
    /// Largest block that is free now.
    #[must_use]
    pub fn largest_free(&self) -> u32 {
        self.free.iter().copied().max().unwrap_or(0)
    }
    /// How many blocks of `per_node` are free now; several may lie on one node.
    #[must_use]
    pub fn free_blocks(&self, per_node: u32) -> u32 {
        count(&self.free, per_node)
    }
    /// How many blocks of `per_node` the nodes could give if nothing ran.
    #[must_use]
    pub fn possible_blocks(&self, per_node: u32) -> u32 {
        count(&self.sizes, per_node)
    }
}

fn count(devices: &[u32], per_node: u32) -> u32 {
    if per_node == 0 { 0 } else { devices.iter().map(|d| d / per_node).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_free_are_not_a_block_of_eight() {
        let blocks = Blocks { sizes: vec![8, 8, 8], free: vec![3, 3, 2] };
        assert_eq!(blocks.free_blocks(8), 0);
        assert_eq!(blocks.largest_free(), 3);
        assert_eq!(blocks.free_blocks(2), 3);
        assert_eq!(blocks.possible_blocks(8), 3);
        assert_eq!(blocks.free_blocks(0), 0);
    }
}
