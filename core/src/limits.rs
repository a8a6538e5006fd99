//! Every bounded number of the core, declared once.

/// Deepest nesting of JSON objects and arrays that is read.
pub const MAX_DEPTH: usize = 128;
/// Of an object with at most so many keys each is compared with each; more are put in order.
pub const FEW_KEYS: usize = 16;
/// Deepest nesting of content parts whose keys are told apart; what lies deeper is scanned as plain strings.
pub const MAX_CONTENT_LEVELS: usize = 8;
/// Most events (messages, tool results, tool calls) of one body that are told apart; more is an issue that refuses.
pub const MAX_EVENTS: usize = 16_384;
/// Longest message of a stream that is read, in bytes.
pub const MAX_FRAME_BYTES: usize = 4 * 1024 * 1024;
/// Most JSON-RPC requests of one body that a refusal answers, so that a small body cannot ask for a large one.
pub const MAX_RPC_IDS: usize = 64;
/// Most bytes of all texts and calls of one stream whose pieces are put together.
pub const MAX_STREAM_BYTES: usize = 256 * 1024;
/// Most texts and tool calls of one stream whose pieces are put together at a time; more is an issue that refuses.
pub const MAX_STREAM_SLOTS: usize = 128;
/// So much of a streamed text is judged at once, in bytes.
pub const STREAM_TEXT_BYTES: usize = 4096;
/// A streamed call's arguments are judged as a whole up to this length, in bytes, and piece by piece beyond.
pub const STREAM_CALL_BYTES: usize = 65_536;
/// So often a streamed text or call is judged because a message says that it is whole; then only when [`STREAM_AGAIN_BYTES`] more of it came, or at
/// the stream's end. Saying so in every message must not make every message dear.
pub const STREAM_ENDS: u32 = 8;
/// As much of a text or call that was said to be whole too often is judged at once, in bytes.
pub const STREAM_AGAIN_BYTES: usize = 256;
/// As much of the end of a streamed text that was judged is judged again with what follows, in bytes: no phrase is longer.
pub const STREAM_TAIL_BYTES: usize = 1024;
/// Most content codings of one body that are taken off, one behind the other.
pub const MAX_CODINGS: usize = 3;
/// Most that a compressed body may unpack to, as a multiple of its size. Text packs to a tenth, repeated text to a hundredth.
pub const MAX_UNPACKED_RATIO: usize = 200;
/// What a compressed body may unpack to whatever its size: a short body may repeat itself.
pub const MIN_UNPACKED_BYTES: usize = 65_536;
/// A compressed body may have one deflate block for so many bytes. Packers make one of some ten thousand.
pub const DEFLATE_BLOCK_BYTES: usize = 256;
/// Deflate blocks that a compressed body may have besides: one that is sent on in small pieces has one for each.
pub const DEFLATE_FREE_BLOCKS: usize = 64;
/// Longest identifier that is taken for one and not scanned, in bytes.
pub const MAX_ID_BYTES: usize = 256;
/// Most issues that are listed; later ones are dropped, since the first decides.
pub const MAX_ISSUES: usize = 64;
/// Most reasons that a judgement lists; hits beyond still count in the score.
pub const MAX_REASONS: usize = 64;
/// Most alarms of a trajectory that a judgement lists, so that its other reasons have room.
pub const MAX_ALARMS: usize = 8;
/// Most messages that a refusal names as those to leave out.
pub const MAX_DROPPED: usize = 8;
/// Most exemptions of a configuration: one bit each in a `u64`.
pub const MAX_EXEMPTIONS: usize = 64;
/// Most times that the text of offending turns is replaced and the body judged again.
pub const MAX_REDACTIONS: usize = 3;
/// Most categories of a set: one bit each in a `u32`.
pub const MAX_CATEGORIES: usize = 32;
/// Fewest bytes that so many tokens take: one letter each, and a space between.
pub const RESAMPLING_MIN_BYTES: usize = 2 * RESAMPLING_MIN_TOKENS - 1;
/// Fewest whitespace tokens of a user message that takes part in the resampling check (arXiv 2602.11247).
pub const RESAMPLING_MIN_TOKENS: usize = 20;
/// Consecutive similar pairs of user messages that make resampling (arXiv 2602.11247).
pub const RESAMPLING_MIN_PAIRS: usize = 3;
/// Short user messages that profile `floodmark` passes over between two long ones (DESIGN.md 7).
pub const RESAMPLING_SKIPPED: usize = 1;
/// Places in which a trigram is looked for; of texts made to collide, what finds none of them free is left out of the comparison.
pub const RESAMPLING_MAX_PROBES: usize = 32;
/// Fewest turns of a strictly rising run at the end that make escalation (arXiv 2602.11247).
pub const ESCALATION_MIN_TURNS: usize = 3;
/// Smallest tau, and smallest level of the detector, that a policy may have.
pub const MIN_TAU: f64 = 0.01;
/// Largest alarm level of persistence that a policy may have: no body's scores sum up to more ([`MAX_EVENTS`]).
pub const MAX_ALARM: f64 = 16_384.0;
/// Largest `min_user_turns` and `min_turns` that a policy may have; more would switch judging off unsaid.
pub const MAX_MIN_TURNS: u32 = 1000;
/// Longest window of turns that a policy may have scored: every turn is looked at once for each length.
pub const MAX_WINDOW_TURNS: u32 = 64;
/// Most turns that a policy may let a window stay fresh: a body has no more events ([`MAX_EVENTS`]).
pub const MAX_DECAY_TURNS: u32 = 16_384;
/// Allowance for rounding when a score is compared with the threshold (DESIGN.md 7).
pub const SCORE_TOLERANCE: f64 = 1e-9;
/// Most encoded spans of one text that are decoded (DESIGN.md 6); more is an issue that flags.
pub const MAX_ENCODED_SPANS: usize = 16;
/// Most bytes of text that one text's encoded spans decode to (DESIGN.md 6); more is an issue that flags.
pub const MAX_DECODED_BYTES: usize = 8 * 1024;
/// Fewest bytes of decoded text that are looked at: no pattern is shorter.
pub const MIN_DECODED_BYTES: usize = 8;
/// Most steps that the search for one phrase takes at one place; [`crate::score::phrase`]. No rule needs a tenth of it on honest text.
pub const MAX_PHRASE_STEPS: usize = 4096;
/// Longest word that a gap between a phrase's pieces passes over, in bytes.
pub const MAX_GAP_WORD_BYTES: usize = 48;
/// How far around a phrase's letters the characters are looked for that must stand among their separators, in bytes.
pub const SEPARATORS_AROUND: usize = 32;
/// How far a sentence is read in each direction from a phrase in it, in bytes.
pub const MAX_SENTENCE_BYTES: usize = 400;
/// Longest HTML tag that is passed over, in bytes.
pub const MAX_TAG_BYTES: usize = 256;
/// Most patterns of the operator's own in one policy.
pub const MAX_OPERATOR_PATTERNS: usize = 64;
/// Longest pattern of the operator's own, in bytes.
pub const MAX_OPERATOR_PATTERN_BYTES: usize = 256;
/// Longest name of an operator's rule or category, in bytes.
pub const MAX_OPERATOR_NAME_BYTES: usize = 64;
/// Largest compiled form of an operator's pattern, in bytes; it bounds the work for each byte that the pattern is run on.
pub const MAX_OPERATOR_COMPILED_BYTES: usize = 8 * 1024;
/// Shortest literal that a match of an operator's pattern must hold, in bytes.
pub const MIN_OPERATOR_LITERAL_BYTES: usize = 3;
/// How far to each side of the literal an operator's pattern is looked for, in bytes.
pub const OPERATOR_WINDOW_BYTES: usize = 256;
/// How much further a word at the border of that piece is taken in, in bytes.
pub const MAX_OPERATOR_WORD_BYTES: usize = 64;
/// Most bytes of a body that operators' patterns are run on, all patterns together; more is an issue that flags.
pub const MAX_OPERATOR_SCAN_BYTES: usize = 32 * 1024;
/// Most phrases of a body that count for nothing because their sentences only mention them.
pub const MAX_MENTIONS: usize = 256;
/// Most bytes of bodies and streams that one VM copies or keeps at once, all exchanges together. What the gateway holds for it is not among them.
pub const MAX_COPIED_BYTES: usize = 24 * 1024 * 1024;
/// So much of a stream may be kept back by a frame that is cut; if it is more, the whole frames before the cut pass.
pub const MAX_CUT_BYTES: usize = 4096;
/// A block of a text that the detector reads ends at the first word behind so many characters.
pub const BLOCK_CHARS: usize = 64;
/// A block ends in the middle of a word behind so many characters, for scripts and encodings without spaces.
pub const BLOCK_MOST_CHARS: usize = 128;
/// Blocks of a chunk: the detector scores every run of so many.
pub const CHUNK_BLOCKS: usize = 8;
/// A word that stood among so many before it tells the detector nothing new.
pub const RECENT_WORDS: usize = 8;
/// Largest body that an endpoint of the operator's takes, in bytes.
pub const MAX_ENDPOINT_BODY_BYTES: usize = 64 * 1024;
/// Largest body that an endpoint of the lineage gate takes, in bytes: an entry with the records of its ancestors.
pub const MAX_LINEAGE_BODY_BYTES: usize = 1_000_000;
/// Most entries that one call may adopt.
pub const MAX_ADOPTED: usize = 1000;
/// Highest version that an entry is given: readers of JSON round higher numbers.
pub const MAX_ENTRY_VERSION: u64 = (1 << 53) - 1;
/// As far ahead of the time may a version be that is asked for, in milliseconds, so that there is always a next one.
pub const MAX_VERSION_AHEAD_MS: u64 = 24 * 3600 * 1000;
/// Most JSON values of a body that an endpoint takes: one that takes two bytes there can take four hundred once it is read.
pub const MAX_ENDPOINT_VALUES: usize = 65_536;
/// Most tenants of which a gateway lists what is in quarantine.
pub const MAX_QUARANTINE_TENANTS: u32 = 1024;
/// Longest list of what is in quarantine, of one tenant, in bytes.
pub const MAX_QUARANTINE_BYTES: usize = 8 * 1024;
/// Most names of tenants, and most sources, that a token is limited to.
pub const MAX_TOKEN_NAMES: usize = 64;
/// Most tokens of the operator's endpoints in one configuration: each is compared at every call.
pub const MAX_TOKENS: usize = 32;
/// Shortest token that an endpoint takes, in bytes: 32 hex digits hold 128 bits, and nobody guesses those.
pub const MIN_TOKEN_BYTES: usize = 32;
/// Longest token that an endpoint takes, in bytes.
pub const MAX_TOKEN_BYTES: usize = 256;
/// Longest name of a token, in bytes; approvals keep it.
pub const MAX_TOKEN_NAME_BYTES: usize = 32;
/// Longest time that an approval may be asked for or used, in seconds: a week.
pub const MAX_APPROVAL_TTL_S: u32 = 7 * 24 * 3600;
/// Longest record of a run, in bytes (DESIGN.md 11).
pub const MAX_RUN_BYTES: usize = 512;
/// Longest record of a caller, in bytes.
pub const MAX_CALLER_BYTES: usize = 256;
/// Most approvals that a gateway keeps, given and not.
pub const MAX_APPROVALS: u32 = 4096;
/// Histories that a run knows again, so that a retry, another branch or a sub-agent goes on from its own.
pub const RUN_HEADS: usize = 8;
/// The same of a run whose history is both brought and kept.
pub const RUN_HEADS_MIXED: usize = 1;
/// Events of the last body, where the server keeps the history, that are known to have reached the alarm level.
pub const RUN_LAST_ALARMS: usize = 4;
/// Last events of the history that was judged last; where they stand in a row in another one, what follows is new.
pub const RUN_TAIL: usize = 4;
/// Events of a run that are known to be more than clean.
pub const RUN_MARKS: usize = 20;
/// Assistant texts of a run that are known to have left.
pub const RUN_OUTGOING: usize = 16;
/// Turns before a body's that the conversation score looks at where the server keeps the history: with the numbers of the default policy no window counts
/// that ends more than 63 turns ago, and none is longer than 12.
pub const RUN_TURNS: usize = 76;
/// Most of them that hit anything and are told apart.
pub const RUN_HIT_TURNS: usize = 24;
/// Events of a caller's runs that are known to have counted.
pub const CALLER_KNOWN: usize = 32;
/// Events of a caller's runs that are known to have reached the alarm level.
pub const CALLER_ALARMS: usize = 8;
/// Most steps of a streamed response that its run takes afterwards; beyond, those go first that lower the sum.
pub const MAX_NOTED_STEPS: usize = 1024;
/// Most texts of one message of the assistant that are put together to see whether they left as one.
pub const MAX_JOINED_TEXTS: usize = 16;
/// Keys of a key ring: the first signs, all verify.
pub const MAX_KEYS: usize = 8;
/// Longest name of a key in a record, in bytes.
pub const MAX_KEY_BYTES: usize = 32;
/// Longest tenant, in bytes.
pub const MAX_TENANT_BYTES: usize = 128;
/// Longest principal, in bytes.
pub const MAX_PRINCIPAL_BYTES: usize = 256;
/// Longest name of a store, in bytes.
pub const MAX_STORE_BYTES: usize = 128;
/// Longest key of a store's entry, in bytes.
pub const MAX_ENTRY_BYTES: usize = 512;
/// Longest author of a record, in bytes.
pub const MAX_AUTHOR_BYTES: usize = 256;
/// Longest version of the lineage policy, in bytes.
pub const MAX_POLICY_BYTES: usize = 64;
/// Longest name of whoever gave a grant or a release, in bytes.
pub const MAX_GRANTER_BYTES: usize = 64;
/// Most parents of a record.
pub const MAX_PARENTS: usize = 64;
/// Most records of one lineage, the presented one included. It bounds the depth too.
pub const MAX_LINEAGE_RECORDS: usize = 16_384;
/// Longest name of a mandate, in bytes.
pub const MAX_MANDATE_BYTES: usize = 64;
/// Longest name of a tool, or of an argument of one, in bytes.
pub const MAX_TOOL_BYTES: usize = 128;
/// Most arguments that a mandate names; no call with more is inside one.
pub const MAX_MANDATE_ARGUMENTS: usize = 32;
/// Most texts that a limit of an argument lists.
pub const MAX_LIMIT_TEXTS: usize = 32;
/// Longest of these texts, in bytes.
pub const MAX_LIMIT_TEXT_BYTES: usize = 1024;
/// Most grants of one check: each is verified.
pub const MAX_GRANTS: usize = 32;
/// Most approved sources of a configuration.
pub const MAX_SOURCES: usize = 256;
/// Most groups of principals of a configuration.
pub const MAX_GROUPS: usize = 64;
/// Most principals of a group.
pub const MAX_GROUP_PRINCIPALS: usize = 256;
/// Most mandates of a configuration.
pub const MAX_MANDATES: usize = 256;
