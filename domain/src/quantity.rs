//! Kubernetes quantities: exact, and written as the API server writes them.
//!
//! Grammar and canonical form follow `k8s.io/apimachinery/pkg/api/resource`: a number in canonical form has no
//! fraction, the largest suffix that allows that, and keeps its format (decimal, binary or exponent). What is
//! emitted in another form than the stored one never comes to rest in a diff (case 41).

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Why a text is not a quantity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a Kubernetes quantity, such as `12`, `500m`, `64Gi` or `1G`")]
pub struct QuantityError(String);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Decimal,
    Binary,
    Exponent,
}

/// An amount of cpu, memory or storage: billionths in a 128-bit integer, so that no value is rounded.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for Quantity {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        String::schema()
    }
}
#[cfg(feature = "openapi")]
impl utoipa::ToSchema for Quantity {}

const NANO: i128 = 1_000_000_000;
/// Kubernetes caps quantities at 2^63-1; so do we.
const CAP: i128 = 9_223_372_036_854_775_807;
const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    /// Zero, in decimal form.
    pub const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    /// A whole number in decimal form.
    #[must_use]
    pub fn whole(n: u32) -> Self {
        Self { nanos: i128::from(n) * NANO, format: Format::Decimal }
    }

    /// `self` for each of `n` units; capped like any quantity.
    #[must_use]
    pub fn times(self, n: u32) -> Self {
        Self { nanos: (self.nanos * i128::from(n)).min(CAP * NANO), format: self.format }
    }

    /// The sum, in the format of the left side unless that is zero; capped like any quantity.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let format = if self.nanos == 0 { other.format } else { self.format };
        Self { nanos: (self.nanos + other.nanos).min(CAP * NANO), format }
    }

    /// Is it zero?
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// The value as a whole number, if it is one that fits.
    #[must_use]
    pub fn to_u32(self) -> Option<u32> {
        (self.nanos % NANO == 0).then(|| u32::try_from(self.nanos / NANO).ok()).flatten()
    }

    /// The value rounded up to whole units, if it fits.
    #[must_use]
    pub fn ceil(self) -> Option<i64> {
        i64::try_from((self.nanos + NANO - 1).div_euclid(NANO)).ok()
    }
}

/// Equal when the value is; `1Gi` equals `1024Mi`.
impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}
impl Eq for Quantity {}
impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text).ok_or_else(|| QuantityError(text.chars().take(40).collect()))
    }
}

fn parse(text: &str) -> Option<Quantity> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 60 {
        return None;
    }
    let (format, power10, power2) = scale(suffix)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shifted = digits.checked_mul(1_i128.checked_shl(power2)?)?;
    let exponent = 9 + power10 - i32::try_from(fraction.len()).ok()?;
    let nanos = if exponent >= 0 {
        10_i128
            .checked_pow(exponent.unsigned_abs())
            .and_then(|p| shifted.checked_mul(p))
            .unwrap_or(CAP * NANO)
    } else {
        // Finer than a billionth is rounded up, as upstream does.
        let unit = 10_i128.checked_pow(exponent.unsigned_abs())?;
        (shifted + unit - 1) / unit
    };
    let nanos = nanos.min(CAP * NANO);
    Some(Quantity { nanos: if negative { -nanos } else { nanos }, format })
}

fn scale(suffix: &str) -> Option<(Format, i32, u32)> {
    if let Some((_, p)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some((Format::Decimal, *p, 0));
    }
    if let Some((_, p)) = BINARY.iter().find(|(s, _)| *s == suffix) {
        return Some((Format::Binary, 0, *p));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    exponent.parse::<i32>().ok().filter(|p| (-9..=18).contains(p)).map(|p| (Format::Exponent, p, 0))
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Binary form is only for whole numbers from 1024; below, upstream falls back to decimal.
        if self.format == Format::Binary && self.nanos % NANO == 0 && self.nanos.abs() >= 1024 * NANO {
            let value = self.nanos / NANO;
            for (suffix, power) in BINARY.iter().rev() {
                let unit = 1_i128 << power;
                if value % unit == 0 {
                    return write!(f, "{}{suffix}", value / unit);
                }
            }
            return write!(f, "{value}");
        }
        for (suffix, power) in DECIMAL.iter().rev() {
            let unit = 10_i128.pow((power + 9).unsigned_abs());
            if self.nanos % unit == 0 && (self.nanos != 0 || *power == 0) {
                let value = self.nanos / unit;
                return match (self.format, *power) {
                    (Format::Exponent, p) if p != 0 => write!(f, "{value}e{p}"),
                    _ => write!(f, "{value}{suffix}"),
                };
            }
        }
        write!(f, "0")
    }
}

impl TryFrom<String> for Quantity {
    type Error = QuantityError;
    fn try_from(text: String) -> Result<Self, QuantityError> {
        text.parse()
    }
}
impl From<Quantity> for String {
    fn from(quantity: Quantity) -> String {
        quantity.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn case_41_canonical_form() {
        for (given, stored) in [
            ("12000m", "12"),
            ("1024Mi", "1Gi"),
            ("1000M", "1G"),
            ("8", "8"),
            ("0.5e1", "5"),
            ("0.5", "500m"),
            ("0", "0"),
            ("1.5Gi", "1536Mi"),
            ("0.5Ki", "512"),
            ("1e3", "1e3"),
            ("1000", "1k"),
            ("1030", "1030"),
            ("0.0000000001", "1n"),
            ("-1.5", "-1500m"),
        ] {
            assert_eq!(given.parse::<Quantity>().unwrap().to_string(), stored, "{given}");
        }
    }

    #[test]
    fn what_is_no_quantity() {
        for bad in ["", ".", "m", "1.2.3", "1 Gi", "１", "1gi", "1e99", "--1", "1Gi "] {
            assert!(bad.parse::<Quantity>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sums_keep_the_unit() {
        let q = |t: &str| t.parse::<Quantity>().unwrap();
        assert_eq!(q("96Gi").times(8).to_string(), "768Gi");
        assert_eq!(Quantity::ZERO.plus(q("1Gi")).plus(q("1Gi")).to_string(), "2Gi");
    }

    proptest! {
        #[test]
        fn canonical_form_is_a_fixed_point(n in 0u64..u64::MAX / 2, suffix in prop::sample::select(vec!["", "m", "k", "Mi", "G", "Ti", "e3"])) {
            let once = format!("{n}{suffix}").parse::<Quantity>().unwrap();
            let twice = once.to_string().parse::<Quantity>().unwrap();
            prop_assert_eq!(once, twice);
            prop_assert_eq!(once.to_string(), twice.to_string());
        }
    }
}
