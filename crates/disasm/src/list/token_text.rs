//! Tokens in JSON.

use ecma335::Token;
use serde::Serializer;

/// Serializes a token in its usual text form.
pub(crate) fn token_text<S: Serializer>(token: &Token, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(token)
}
