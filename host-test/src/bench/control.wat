;; The control of the bench: a plugin that waits for the whole body and does nothing else.
;; What a request costs with it is the price of any body-judging plugin; what Floodmark costs more is Floodmark's.
(module
  (memory (export "memory") 1)
  ;; Envoy hands over strings through this; one fixed place is enough, since nothing is ever read.
  (func (export "proxy_on_memory_allocate") (param i32) (result i32) (i32.const 1024))
  (func (export "proxy_abi_version_0_2_1"))
  (func (export "proxy_on_context_create") (param i32 i32))
  (func (export "proxy_on_vm_start") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_configure") (param i32 i32) (result i32) (i32.const 1))
  (func (export "proxy_on_request_headers") (param i32 i32 i32) (result i32) (i32.const 0))
  ;; Pause (1) until the end of the stream, then continue (0).
  (func (export "proxy_on_request_body") (param i32 i32 i32) (result i32) (i32.eqz (local.get 2)))
  (func (export "proxy_on_request_trailers") (param i32 i32) (result i32) (i32.const 0))
  (func (export "proxy_on_done") (param i32) (result i32) (i32.const 1))
  (func (export "proxy_on_log") (param i32))
  (func (export "proxy_on_delete") (param i32)))
