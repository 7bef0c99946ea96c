//! The registered clusters that this process is connected to.

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use cluster::Member;
use domain::name::ClusterName;

/// Connected clusters by name.
#[derive(Default)]
pub(crate) struct Members {
    connected: RwLock<BTreeMap<ClusterName, Arc<Member>>>,
}

impl Members {
    pub(crate) fn get(&self, name: &ClusterName) -> Option<Arc<Member>> {
        self.connected.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn put(&self, name: ClusterName, member: Arc<Member>) {
        self.connected.write().unwrap_or_else(PoisonError::into_inner).insert(name, member);
    }

    pub(crate) fn remove(&self, name: &ClusterName) {
        self.connected.write().unwrap_or_else(PoisonError::into_inner).remove(name);
    }
}
