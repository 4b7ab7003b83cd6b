// Package ort runs ONNX models with ONNX Runtime, loaded as a shared library
// while the program runs. It is the only package that touches the runtime's
// memory.
//
// Ownership: who opens closes. A Runtime owns its sessions, a Session owns its
// native graph, a Buffer owns its native tensor. Close is idempotent
// everywhere. Tensors that cross Session.Run are ordinary Go memory: nothing
// native outlives the call.
//
// Cancellation: the context is looked at before every native call, and a
// cancelled context stops a running call at the next graph node; the error is
// then the context's.
package ort
