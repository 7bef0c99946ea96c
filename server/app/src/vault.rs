//! Encryption of secrets at rest: XChaCha20-Poly1305 with a key that is not in the database.

use chacha20poly1305::{
    XChaCha20Poly1305, XNonce,
    aead::{Aead, KeyInit, Payload},
};

use crate::{AppError, Entropy, Result};

const NONCE: usize = 24;

/// Seals and opens secrets with the key of this installation.
pub struct Vault {
    cipher: XChaCha20Poly1305,
}

impl Vault {
    /// A vault with this key (32 random bytes, kept in a file with mode 0600 or given by the environment).
    #[must_use]
    pub fn new(key: [u8; 32]) -> Self {
        Self { cipher: XChaCha20Poly1305::new(&key.into()) }
    }

    /// Nonce and cipher text. `what` is bound to it, so that a sealed secret cannot be moved to another row.
    pub(crate) fn seal(&self, entropy: &dyn Entropy, what: &str, plain: &str) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE];
        entropy.fill(&mut nonce);
        let payload = Payload { msg: plain.as_bytes(), aad: what.as_bytes() };
        let sealed = self
            .cipher
            .encrypt(XNonce::from_slice(&nonce), payload)
            .map_err(|_| broken("cannot be sealed"))?;
        Ok([nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open(&self, what: &str, sealed: &[u8]) -> Result<String> {
        let (nonce, text) = sealed.split_at_checked(NONCE).ok_or_else(|| broken("is too short"))?;
        let payload = Payload { msg: text, aad: what.as_bytes() };
        let plain = self
            .cipher
            .decrypt(XNonce::from_slice(nonce), payload)
            .map_err(|_| broken("was sealed with another key, or was changed"))?;
        String::from_utf8(plain).map_err(|_| broken("is not text"))
    }
}

fn broken(why: &str) -> AppError {
    AppError::internal("a stored secret cannot be used", format!("the secret {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed;
    impl Entropy for Fixed {
        fn fill(&self, buffer: &mut [u8]) {
            buffer.fill(7);
        }
    }

    #[test]
    fn a_secret_opens_only_with_its_key_and_in_its_place() {
        let vault = Vault::new([1; 32]);
        let sealed = vault.seal(&Fixed, "cluster/a/emitter", "token").unwrap();
        assert!(!sealed.windows(5).any(|w| w == b"token"));
        assert_eq!(vault.open("cluster/a/emitter", &sealed).unwrap(), "token");
        assert!(vault.open("cluster/b/emitter", &sealed).is_err());
        assert!(Vault::new([2; 32]).open("cluster/a/emitter", &sealed).is_err());
        assert!(vault.open("cluster/a/emitter", &sealed[..5]).is_err());
    }
}
