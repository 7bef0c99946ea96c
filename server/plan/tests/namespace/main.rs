//! The plan of one team namespace: what is written for whom, as golden files, cases and properties.

#[cfg(test)]
mod cases;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod probes;
#[cfg(test)]
mod properties;
