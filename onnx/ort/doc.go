// Package ort runs ONNX models with ONNX Runtime, loaded as a shared library at run time. It is the only package that
// handles the runtime's memory.
//
// Ownership: who opens closes. A Runtime owns its sessions, a Session owns its native graph, a Buffer owns its native
// tensor. Close is idempotent everywhere. Tensors that are passed to or returned by Session.Run are ordinary Go memory:
// nothing native outlives the call.
//
// Cancellation: the context is checked before every native call, and a cancelled context stops a running call at the
// next graph node; the error is then the context's.
package ort
