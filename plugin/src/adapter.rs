//! The plugin's face to the SDK: callbacks in, host calls out. The SDK's default getters panic, so none of them is used.
#![allow(unsafe_code, reason = "the SDK's main! macro expands to an exported function")]

use std::rc::Rc;

use proxy_wasm::traits::{Context, HttpContext, RootContext};
use proxy_wasm::types;

use crate::filter::{Filter, Flow, Shared};
use crate::host::{Header, Host, HostError, LocalReply, LogLevel};
use crate::{abi, banner, config};

proxy_wasm::main! {{
    proxy_wasm::set_root_context(|_| Box::new(Root::default()));
}}

/// The host behind the ABI.
struct Gateway;

impl Host for Gateway {
    fn request_headers(&self) -> Result<Vec<Header>, HostError> {
        abi::headers(abi::REQUEST_HEADERS)
    }

    fn remove_request_header(&self, name: &str) -> Result<(), HostError> {
        abi::remove_header(abi::REQUEST_HEADERS, name)
    }

    fn remove_request_trailer(&self, name: &str) -> Result<(), HostError> {
        abi::remove_header(abi::REQUEST_TRAILERS, name)
    }

    fn request_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
        abi::buffer(abi::REQUEST_BODY, start, length)
    }

    fn set_request_header(&self, name: &str, value: &str) -> Result<(), HostError> {
        abi::replace_header(abi::REQUEST_HEADERS, name, value)
    }

    fn replace_request_body(&self, length: usize, body: &[u8]) -> Result<(), HostError> {
        abi::replace_buffer_start(abi::REQUEST_BODY, length, body)
    }

    fn response_headers(&self) -> Result<Vec<Header>, HostError> {
        abi::headers(abi::RESPONSE_HEADERS)
    }

    fn response_body(&self, start: usize, length: usize) -> Result<Vec<u8>, HostError> {
        abi::buffer(abi::RESPONSE_BODY, start, length)
    }

    fn replace_response_body(&self, length: usize, body: &[u8]) -> Result<(), HostError> {
        abi::replace_buffer_start(abi::RESPONSE_BODY, length, body)
    }

    fn set_response_header(&self, name: &str, value: Option<&str>) -> Result<(), HostError> {
        match value {
            Some(value) => abi::replace_header(abi::RESPONSE_HEADERS, name, value),
            None => abi::remove_header(abi::RESPONSE_HEADERS, name),
        }
    }

    fn property(&self, path: &[&str]) -> Result<Vec<u8>, HostError> {
        abi::property(path)
    }

    fn set_filter_state(&self, name: &str, value: &str) -> Result<(), HostError> {
        abi::set_property(name, value)
    }

    fn reply(&self, reply: &LocalReply) -> Result<(), HostError> {
        abi::local_response(reply.status, &reply.details, &reply.headers, &reply.body)
    }

    fn shared_data(&self, key: &str) -> Result<Option<(Vec<u8>, u32)>, HostError> {
        abi::shared_data(key)
    }

    fn set_shared_data(&self, key: &str, value: &[u8], version: u32) -> Result<bool, HostError> {
        abi::set_shared_data(key, value, version)
    }

    fn define_counter(&self, name: &str) -> Result<u32, HostError> {
        abi::define_counter(name)
    }

    fn count(&self, counter: u32) -> Result<(), HostError> {
        abi::increment(counter)
    }

    fn log(&self, level: LogLevel, line: &str) {
        abi::log(level as u32, line);
    }

    fn now_ns(&self) -> u64 {
        abi::now_ns().unwrap_or_default()
    }
}

/// One VM's copy of the plugin.
#[derive(Default)]
struct Root {
    shared: Option<Rc<Shared>>,
}

impl Context for Root {}

impl RootContext for Root {
    fn on_vm_start(&mut self, _size: usize) -> bool {
        Gateway.log(LogLevel::Info, &banner());
        true
    }

    fn on_configure(&mut self, size: usize) -> bool {
        let bytes = abi::buffer(abi::PLUGIN_CONFIGURATION, 0, size).unwrap_or_default();
        match config::parse(&bytes) {
            Ok(rules) => {
                self.shared = Some(Rc::new(Shared::new(&Gateway, rules, &bytes)));
                true
            }
            Err(refused) => {
                Gateway.log(LogLevel::Error, &format!("floodmark {refused}"));
                false
            }
        }
    }

    fn create_http_context(&self, _context: u32) -> Option<Box<dyn HttpContext>> {
        let shared = self.shared.as_ref()?;
        Some(Box::new(Stream {
            filter: Filter::new(Rc::clone(shared)),
            #[cfg(feature = "trap-for-tests")]
            trap: crate::trap::Trap::default(),
        }))
    }

    fn get_type(&self) -> Option<types::ContextType> {
        Some(types::ContextType::HttpContext)
    }
}

/// One request.
struct Stream {
    filter: Filter,
    #[cfg(feature = "trap-for-tests")]
    trap: crate::trap::Trap,
}

impl Context for Stream {}

impl HttpContext for Stream {
    fn on_http_request_headers(&mut self, _count: usize, end_of_stream: bool) -> types::Action {
        #[cfg(feature = "trap-for-tests")]
        {
            self.trap = crate::trap::Trap::asked(&Gateway);
            self.trap.spring("headers");
        }
        self.filter.request_headers(&Gateway, end_of_stream).into()
    }

    fn on_http_request_body(&mut self, size: usize, end_of_stream: bool) -> types::Action {
        #[cfg(feature = "trap-for-tests")]
        self.trap.spring("body");
        self.filter.request_body(&Gateway, size, end_of_stream).into()
    }

    fn on_http_request_trailers(&mut self, _count: usize) -> types::Action {
        self.filter.request_trailers(&Gateway).into()
    }

    fn on_http_response_headers(&mut self, _count: usize, end_of_stream: bool) -> types::Action {
        self.filter.response_headers(&Gateway, end_of_stream).into()
    }

    fn on_http_response_body(&mut self, size: usize, end_of_stream: bool) -> types::Action {
        self.filter.response_body(&Gateway, size, end_of_stream).into()
    }

    fn on_http_response_trailers(&mut self, _count: usize) -> types::Action {
        self.filter.response_trailers(&Gateway).into()
    }

    fn on_log(&mut self) {
        self.filter.log(&Gateway);
    }
}

impl From<Flow> for types::Action {
    fn from(flow: Flow) -> Self {
        match flow {
            Flow::Continue => types::Action::Continue,
            Flow::Pause => types::Action::Pause,
        }
    }
}
