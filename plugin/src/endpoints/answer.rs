//! What an endpoint answers: a JSON object, or what is wrong with the call and what would be right.

use floodmark_core::limits::{MAX_TOKEN_BYTES, MIN_TOKEN_BYTES};
use serde::Serialize;

use crate::config::Scope;
use crate::host::LocalReply;
use crate::labels::TOKEN_HEADER;

/// What `%RESPONSE_CODE_DETAILS%` shows of every answer, with the code of the problem or the endpoint in braces.
const DETAILS: &str = "floodmark_endpoint";

/// An answer with status 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    json: String,
}

/// Why a call was not answered as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// The kill switch is thrown.
    Disabled,
    /// No token, more than one, or one that nobody has.
    Token,
    /// The token may not do this; the scope that may.
    Scope(Scope),
    /// The token has the scope, and is limited to others than this: which limit.
    Limited(&'static str),
    /// The plugin's configuration has no `lineage`.
    NoLineage,
    /// The path has a query.
    Query,
    /// The path is an odd spelling of one under the prefix.
    Spelling,
    /// There is no such endpoint.
    Path,
    /// The endpoint knows other methods only: these.
    Method(String),
    /// A body came where none is taken.
    Body,
    /// The body is over the cap, which is this, in bytes.
    TooLarge(usize),
    /// The content-type is not JSON in UTF-8.
    ContentType,
    /// The body is compressed.
    ContentEncoding,
    /// The path's last part or the body is not what the endpoint takes: what and where.
    Malformed(String),
    /// The thing that is asked for is not there; its name.
    Unknown(&'static str),
    /// It is not in the state for that: why.
    Conflict(&'static str),
    /// The gateway did not hand over the body that it said it had.
    Unread,
    /// The gateway cannot keep state, or it could not be read or changed now.
    State,
}

impl Answer {
    /// `told` as JSON.
    pub fn new(told: &impl Serialize) -> Self {
        // What endpoints tell are structs of strings and numbers, which can always be spelled.
        Answer { json: serde_json::to_string(told).unwrap_or_else(|_| "{}".to_owned()) }
    }

    /// The members of two objects as one; a flattened field would be 2 KB of code.
    pub fn joined(told: &impl Serialize, more: &impl Serialize) -> Self {
        let (Answer { mut json }, Answer { json: more }) = (Answer::new(told), Answer::new(more));
        json.pop();
        json.push_str(&more.replacen('{', ",", 1));
        Answer { json }
    }

    /// For the client; `name` is the endpoint's.
    pub(super) fn reply(self, name: &str) -> LocalReply {
        reply(200, self.json, name)
    }
}

impl Problem {
    /// The HTTP status.
    pub fn status(&self) -> u32 {
        match self {
            Problem::Query | Problem::Body | Problem::Malformed(_) => 400,
            Problem::Token => 401,
            Problem::Scope(_) | Problem::Limited(_) => 403,
            Problem::Spelling | Problem::Path | Problem::Unknown(_) | Problem::NoLineage => 404,
            Problem::Method(_) => 405,
            Problem::Conflict(_) => 409,
            Problem::TooLarge(_) => 413,
            Problem::ContentType | Problem::ContentEncoding => 415,
            Problem::Disabled | Problem::Unread | Problem::State => 503,
        }
    }

    /// The code that programs can look for.
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Disabled => "disabled",
            Problem::Token => "unauthorized",
            Problem::Scope(_) | Problem::Limited(_) => "forbidden",
            Problem::NoLineage => "not_configured",
            Problem::Query => "query",
            Problem::Spelling => "path_spelling",
            Problem::Path => "no_endpoint",
            Problem::Method(_) => "method",
            Problem::Body => "unexpected_body",
            Problem::TooLarge(_) => "too_large",
            Problem::ContentType => "content_type",
            Problem::ContentEncoding => "content_encoding",
            Problem::Malformed(_) => "malformed",
            Problem::Unknown(_) => "not_found",
            Problem::Conflict(_) => "conflict",
            Problem::Unread => "body_unread",
            Problem::State => "state_unavailable",
        }
    }

    fn message(&self) -> String {
        match self {
            Problem::Disabled => "the plugin is switched off (`enabled` is false in its configuration), and its endpoints with it".to_owned(),
            Problem::Token => {
                format!("send one configured token of {MIN_TOKEN_BYTES} to {MAX_TOKEN_BYTES} bytes in one header {TOKEN_HEADER}")
            }
            Problem::Scope(scope) => ["the token lacks the scope `", scope.name(), "`"].concat(),
            Problem::Limited(key) => ["the token is limited to other ", key, " in the plugin's configuration"].concat(),
            Problem::NoLineage => "the lineage gate is off: give `lineage` in the plugin's configuration, beside `keys`".to_owned(),
            Problem::Query => "endpoints take no query; leave out `?` and what follows".to_owned(),
            Problem::Spelling => {
                "an endpoint's path has one spelling only: lower case as documented, the prefix as configured, without escapes, dots, doubled \
                 slashes or parameters"
                    .to_owned()
            }
            Problem::Path => "there is no such endpoint; docs/endpoints.md lists them".to_owned(),
            Problem::Method(allowed) => ["this endpoint takes ", allowed, " only"].concat(),
            Problem::Body => "this endpoint takes no body".to_owned(),
            Problem::TooLarge(most_bytes) => format!("the body is over {most_bytes} bytes"),
            Problem::ContentType => "send the body as UTF-8 with content-type application/json".to_owned(),
            Problem::ContentEncoding => "send the body uncompressed, without content-encoding".to_owned(),
            Problem::Malformed(what) => what.clone(),
            Problem::Unknown(what) => ["there is no such ", what, ", or no longer"].concat(),
            Problem::Conflict(why) => (*why).to_owned(),
            Problem::Unread => "the gateway did not hand over the body; send it again".to_owned(),
            Problem::State => "the gateway's shared data could not be used; the log says why".to_owned(),
        }
    }

    /// For the client.
    pub(super) fn reply(&self) -> LocalReply {
        #[derive(Serialize)]
        struct Outer<'p> {
            error: Inner<'p>,
        }
        #[derive(Serialize)]
        struct Inner<'p> {
            code: &'p str,
            message: &'p str,
        }
        let told = Answer::new(&Outer { error: Inner { code: self.code(), message: &self.message() } });
        let mut reply = reply(self.status(), told.json, self.code());
        match self {
            Problem::Token => reply.headers.push(("www-authenticate", TOKEN_HEADER.to_owned())),
            Problem::Method(allowed) => reply.headers.push(("allow", allowed.clone())),
            _ => {}
        }
        reply
    }
}

fn reply(status: u32, json: String, name: &str) -> LocalReply {
    let headers = vec![("content-type", "application/json".to_owned()), ("cache-control", "no-store".to_owned())];
    LocalReply { status, headers, body: json.into_bytes(), details: [DETAILS, "{", name, "}"].concat() }
}
