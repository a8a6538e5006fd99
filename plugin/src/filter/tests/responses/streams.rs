//! Streams: what passes as it comes, what is held, and how they end.
