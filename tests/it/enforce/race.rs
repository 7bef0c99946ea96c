//! Somebody with all rights creates pods without a pause while a namespace is born, raised and lowered.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use kube::Client;
use tokio::task::JoinHandle;

use super::site::{GPU, SLICE, clear, create, desired, eventually, pod, site};

/// Creates the same pod again and again, four at a time; counts tries and successes.
pub(super) struct Hammer {
    stop: Arc<AtomicBool>,
    tries: Arc<AtomicU32>,
    admitted: Arc<AtomicU32>,
    tasks: Vec<JoinHandle<()>>,
}

impl Hammer {
    pub(super) fn start(
        client: &Client,
        namespace: &'static str,
        resource: &'static str,
        amount: u32,
        pool: &'static str,
    ) -> Self {
        let (stop, tries, admitted): (Arc<AtomicBool>, Arc<AtomicU32>, Arc<AtomicU32>) = Default::default();
        let pod = pod(resource, amount, Some(pool));
        let one = || {
            let (client, pod, ended) = (client.clone(), pod.clone(), stop.clone());
            let (tries, admitted) = (tries.clone(), admitted.clone());
            tokio::spawn(async move {
                while !ended.load(Ordering::Relaxed) {
                    tries.fetch_add(1, Ordering::Relaxed);
                    if create(&client, namespace, &pod).await.is_ok() {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                }
            })
        };
        let tasks = (0..4).map(|_| one()).collect();
        Self { stop, tries, admitted, tasks }
    }

    /// Waits until it tried `more` times from now on.
    pub(super) async fn goes_on(&self, more: u32) {
        let until = self.tries.load(Ordering::Relaxed) + more;
        eventually("more tries", || async { (self.tries.load(Ordering::Relaxed) >= until).then_some(()) })
            .await;
    }

    /// How many came in.
    pub(super) async fn end(self) -> u32 {
        self.stop.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.unwrap();
        }
        self.admitted.load(Ordering::Relaxed)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_pod_comes_in_over_the_grant_during_birth_raise_and_lowering() {
    let site = site().await;
    let over_four = Hammer::start(&site.admin, "race-vision", GPU, 5, "h100");
    let unlisted = Hammer::start(&site.admin, "race-vision", "example.com/unknown", 1, "h100");
    let slices = Hammer::start(&site.admin, "race-vision", SLICE, 8, "a100");
    over_four.goes_on(4).await;
    site.member.enforce(&desired("race-vision", &[(GPU, 4)])).await.unwrap();
    over_four.goes_on(20).await;
    assert_eq!(over_four.end().await, 0, "5 of 4 at birth");

    // A raise that also adds a resource, a swap of both, and a lowering to less than before.
    let over_six = Hammer::start(&site.admin, "race-vision", GPU, 7, "h100");
    site.member.enforce(&desired("race-vision", &[(GPU, 6), (SLICE, 7)])).await.unwrap();
    over_six.goes_on(20).await;
    site.member.enforce(&desired("race-vision", &[(GPU, 0), (SLICE, 7)])).await.unwrap();
    let any = Hammer::start(&site.admin, "race-vision", GPU, 1, "h100");
    any.goes_on(20).await;
    assert_eq!(any.end().await, 0, "the resource was taken away");
    site.member.enforce(&desired("race-vision", &[(GPU, 2), (SLICE, 1)])).await.unwrap();
    let over_two = Hammer::start(&site.admin, "race-vision", GPU, 3, "h100");
    for hammer in [over_six, over_two, slices, unlisted] {
        hammer.goes_on(20).await;
        assert_eq!(hammer.end().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_pods_as_granted_come_in_and_not_one_more() {
    let site = site().await;
    let hammers = [(), ()].map(|()| Hammer::start(&site.admin, "race-crowd", GPU, 1, "h100"));
    site.member.enforce(&desired("race-crowd", &[(GPU, 4)])).await.unwrap();
    hammers[0].goes_on(40).await;
    site.member.enforce(&desired("race-crowd", &[(GPU, 6)])).await.unwrap();
    hammers[1].goes_on(40).await;
    let mut sum = 0;
    for hammer in hammers {
        sum += hammer.end().await;
    }
    assert_eq!(sum, 6);
    clear(&site.admin, "race-crowd").await;
}
