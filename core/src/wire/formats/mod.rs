//! The formats, one file each: a table of what each carries. Keys that no table lists are walked: their strings are scanned as records of the
//! object that they stand in.

pub mod a2a;
pub mod anthropic_messages;
pub mod bedrock_converse;
pub mod gemini;
pub mod mcp;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
