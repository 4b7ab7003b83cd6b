package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc"

	"pipe/onnx/ort"
	"pipe/pipeline/textlog"
	"pipe/serve/access"
	"pipe/serve/metrics"
)

// Options are what a program passes to a server besides the configuration.
type Options struct {
	Log     io.Writer  // of JSON lines; nil: none
	Runtime ort.Config // which ONNX Runtime, on which device
	Version string     // of the program
	// Redactor sees every text that is kept (log.texts) after the patterns of the settings; nil: none.
	Redactor textlog.Redactor
	// Reread reads the configuration again for Reload, which uses the sections of people and of the gateway. nil: the configuration
	// does not change, and Reload reads only the files that it names.
	Reread func() (Config, error)
}

// Server serves policies. Only New makes one.
type Server struct {
	config    Config
	reread    func() (Config, error) // nil: the configuration does not change
	log       *slog.Logger
	registry  *prometheus.Registry
	metrics   *metrics.Metrics
	secrets   *access.Secrets
	access    *access.Access
	certs     *access.Certificates // nil without TLS
	gate      *access.Gate
	parts     parts
	mux       *http.ServeMux
	http      *http.Server
	grpc      *grpc.Server // nil without gRPC
	open      listeners
	addresses Addresses
	draining  atomic.Bool
	checking  bool           // it is opened by Check: usage of keys is not saved
	closers   []func() error // in the order of opening
	redactor  textlog.Redactor
}

// New opens everything that the configuration names, and starts to listen. Requests are answered by Run. The caller must
// call Run or Close.
func New(ctx context.Context, c Config, o Options) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	s, err := assemble(ctx, c, o)
	if err == nil {
		err = s.listen(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// assemble opens everything but the listeners. After an error, the caller closes the server.
func assemble(ctx context.Context, c Config, o Options) (*Server, error) {
	s := prepare(c, o)
	for _, open := range append(s.openBasics(ctx, o), s.openServices(ctx, o)...) {
		if err := open(); err != nil {
			return s, err
		}
	}
	s.routeOperation()
	s.buildHTTP()
	return s, nil
}

// prepare makes a server that has opened nothing yet.
func prepare(c Config, o Options) *Server {
	s := &Server{config: c, reread: o.Reread, redactor: o.Redactor, mux: http.NewServeMux()}
	s.openLog(o.Log)
	s.openMetrics(o.Version)
	return s
}

// openBasics returns functions that open the parts that need no others. They can be called even if one of them fails.
func (s *Server) openBasics(ctx context.Context, o Options) []func() error {
	return []func() error{s.openKeys, s.openCertificate, func() error { return s.openTelemetry(ctx, o.Version) }, func() error { return s.openPolicies(ctx, o.Runtime) }}
}

// openServices returns functions that open the parts that need all earlier ones.
func (s *Server) openServices(ctx context.Context, o Options) []func() error {
	return []func() error{
		s.openDecisionLog,
		s.openDecider,
		s.openPeople,
		func() error { return s.openCandidates(ctx) },
		func() error { return s.openMonitor(ctx) },
		func() error { return s.openPage(o.Version) },
		func() error { return s.openProtocols(o.Version) },
		s.buildGRPC,
	}
}

// openLog makes the logger, which hides secrets in all messages.
func (s *Server) openLog(w io.Writer) {
	s.secrets = &access.Secrets{}
	if w == nil {
		w = io.Discard
	}
	var level slog.Level
	_ = level.UnmarshalText([]byte(s.config.Logs.Level)) // Validate has checked it
	s.log = slog.New(slog.NewJSONHandler(s.secrets.Writer(w), &slog.HandlerOptions{Level: level}))
}

// openMetrics registers the metrics of the server, of the process and of Go.
func (s *Server) openMetrics(version string) {
	s.registry = prometheus.NewRegistry()
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	built := prometheus.NewGauge(prometheus.GaugeOpts{Name: "pipe_build_info", Help: "1, with the version of the program.", ConstLabels: prometheus.Labels{"version": version}})
	built.Set(1)
	s.registry.MustRegister(built)
	s.metrics = metrics.New(s.registry)
}

// openKeys reads the keys of callers.
func (s *Server) openKeys() (err error) {
	if s.access, err = access.New(s.config.Access, s.secrets, s.metrics); err != nil {
		return err
	}
	s.access.TrustAnybody(s.config.isLocal())
	if !s.checking {
		s.closers = append(s.closers, s.access.Save)
	}
	s.gate = access.NewGate(s.config.Limits, s.metrics)
	return nil
}

// openCertificate reads the certificate, if TLS is on.
func (s *Server) openCertificate() error {
	if !s.config.TLS.On() {
		return nil
	}
	certs, err := access.LoadCertificates(s.config.TLS)
	if err != nil {
		return err
	}
	s.certs = certs
	return nil
}

// routeOperation adds the routes for operators.
func (s *Server) routeOperation() {
	s.mux.HandleFunc("GET /healthz", s.serveLive)
	s.mux.HandleFunc("GET /readyz", s.serveReady)
	s.mux.HandleFunc("POST /v1/policies/reload", s.serveReload)
	s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelError)}))
}

// buildHTTP makes the HTTP server. Its middleware is, from the outside in: id, time limits and metrics of the request; check
// of the origin; check of the key; queue.
func (s *Server) buildHTTP() {
	w := &requestLogger{s.config.Limits, s.config.Logs.Requests, s.metrics, s.parts.figures, s.log, s.parts.telemetry}
	localOnly := !s.access.Needed() && s.config.isLocal()
	handler := w.wrap(access.SameSite(localOnly, s.metrics, s.access.Wrap(s.gate.Wrap(innermost(s.mux)))))
	l := s.config.Limits
	s.http = &http.Server{
		Handler: handler, ReadHeaderTimeout: l.HeaderTime, IdleTimeout: l.IdleTime, MaxHeaderBytes: l.Header,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // such as clients that do not speak HTTP
	}
}

// Close closes a server that is never run; Run closes the server itself. It is idempotent.
func (s *Server) Close() error {
	problems := []error{s.open.close()}
	for i := len(s.closers) - 1; i >= 0; i-- {
		problems = append(problems, s.closers[i]())
	}
	s.closers = nil
	return errors.Join(problems...)
}
