// Package serve is a server for policies. It answers over HTTP and gRPC which expert should handle a request and which
// advice it should be shown; as a gateway, it also calls that expert and returns its answer. It is what the command
// `pipe serve` runs, for programs that need the server inside their own process. To decide inside a process without a
// server, use package pipe/pipeline/decide instead.
//
// # Running a server
//
// A [Config] says what is served, where and to whom. Start with [DefaultConfig], or read a YAML file with [Load]; every
// setting has the name that docs/serve.md describes. [New] opens the policies and the addresses, and [Server.Run] answers
// requests until its context ends:
//
//	c := serve.DefaultConfig()
//	c.Policies.Paths = []string{"policy.onnx"}
//	s, err := serve.New(ctx, c, serve.Options{Runtime: ort.DefaultConfig()})
//	if err != nil {
//		return err
//	}
//	return s.Run(ctx)
//
// Connections that arrive between New and Run wait. When the context of Run ends, the server first reports that it is
// not ready (see [Config.StopNotice]), then stops accepting requests and waits up to Stop.Drain for those that run. Run
// returns nil if all of them were answered and a [*CutError] if some were not. It closes the server in every case.
// Call [Server.Close] only for a server that is never run. A server runs once.
//
// [Check] reports everything that is wrong with a configuration without serving it. [Server.Reload] reads policies, keys,
// certificates and the settings of people and of the gateway again while requests are answered. Whatever cannot be read is refused, and
// the previous version stays in use.
//
// All methods of a Server are safe for concurrent use, except that Run and Close are for one goroutine.
//
// # Packages
//
// Package serve joins the packages below and adds the listeners, health checks, logs and the shutdown. Import one of them
// directly to serve policies from an HTTP or gRPC server that you have already. None of them listens on an address: those
// with a protocol have a method Register that adds their routes to an [net/http.ServeMux].
//
//   - policies loads policy files, replaces them while requests run, and batches concurrent requests.
//   - decision makes a decision on loaded policies, with canaries, exploration, shadow policies and the decision log. Use
//     it to decide behind a protocol of your own.
//   - decideapi serves decisions and takes outcomes as JSON over HTTP.
//   - oip serves policies by the Open Inference Protocol, over HTTP and gRPC, for existing clients of Triton and KServe.
//   - gateway serves OpenAI's API for chat completions, and calls the experts. It consists of gateway/expert (one
//     service and its circuit breaker), gateway/advice (retrieved text), gateway/protocol, gateway/chatjson and gateway/sse (formats).
//   - access has API keys, rate limits, quotas, a bounded request queue and TLS certificates, as middleware.
//   - dashboard is an HTML page with figures about recent decisions.
//   - metrics has the Prometheus metrics of all of them.
//
// # Compatibility
//
// Keys of the configuration file keep their meaning. Fields of the HTTP interfaces and of the decision log are added, not
// renamed, and a decision log that a release wrote is read by every later release. The Go interface of this package and
// of those above may still change before v1.0; CHANGELOG.md lists what a program must change. Texts of messages may
// change at any time.
package serve
