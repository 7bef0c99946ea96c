use super::*;

fn entry(name: &str, value: u32) -> (String, Option<u32>) {
    (name.to_owned(), Some(value))
}

#[test]
fn a_list_that_begins_anew_hides_nothing_until_it_is_complete() {
    let mut mirror = Mirror::new();
    let mut known = HashMap::new();
    for event in [Event::Init, Event::InitApply(entry("a", 1)), Event::InitApply(entry("b", 1))] {
        assert!(!mirror.take(&mut known, event));
    }
    assert!(mirror.take(&mut known, Event::InitDone));
    let first = HashMap::from([("a".to_owned(), 1), ("b".to_owned(), 1)]);
    assert_eq!(known, first);

    // The second list breaks off, the third does not know `b` any more.
    for event in [Event::Init, Event::InitApply(entry("c", 1)), Event::Init, Event::InitApply(entry("a", 2))]
    {
        assert!(!mirror.take(&mut known, event));
        assert_eq!(known, first);
    }
    assert!(mirror.take(&mut known, Event::InitDone));
    assert_eq!(known, HashMap::from([("a".to_owned(), 2)]));
}

#[test]
fn what_is_reported_again_is_no_change_and_what_is_not_kept_goes() {
    let mut mirror = Mirror::new();
    let mut known = HashMap::new();
    assert!(mirror.take(&mut known, Event::Apply(entry("a", 1))));
    assert!(!mirror.take(&mut known, Event::Apply(entry("a", 1))));
    assert!(mirror.take(&mut known, Event::Apply(("a".to_owned(), None))));
    assert!(!mirror.take(&mut known, Event::Delete(entry("a", 1))));
    assert_eq!(known, HashMap::new());
}
