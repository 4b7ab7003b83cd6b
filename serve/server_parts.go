package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"

	"pipe/internal/filelock"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
	"pipe/serve/access"
	"pipe/serve/dashboard"
	"pipe/serve/decideapi"
	"pipe/serve/decision"
	"pipe/serve/gateway"
	"pipe/serve/oip"
	"pipe/serve/people"
	"pipe/serve/policies"
	"pipe/serve/telemetry"
	"pipe/serve/trials"
)

// parts are the parts of a server that answer requests.
type parts struct {
	policies *policies.Set
	log      *decisionlog.Writer // nil: none
	decider  *decision.Decider
	decide   *decideapi.API
	oip      *oip.API
	trials   *trials.Trials // nil: there are no candidates
	people   *people.People // nil: no expert is people
	gateway  *gateway.API   // nil: no experts are configured
	monitor  *monitoring    // nil: none
	figures  *dashboard.Collector
	runtime  *ort.Runtime

	telemetry *telemetry.Telemetry // nil: none
}

// openPolicies opens the runtime and the policies. The runtime gets one thread, because several runs are concurrent.
func (s *Server) openPolicies(ctx context.Context, runtime ort.Config) error {
	if runtime.Threads == 0 {
		runtime.Threads = 1
	}
	rt, err := ort.Open(runtime)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, rt.Close)
	s.parts.runtime = rt
	s.parts.policies, err = policies.Open(ctx, s.config.Policies, rt, s.metrics, s.log)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.policies.Close)
	return nil
}

// openTelemetry starts the exports of traces and metrics, if an endpoint is configured.
func (s *Server) openTelemetry(ctx context.Context, version string) (err error) {
	settings := s.config.Telemetry
	s.secrets.Set("telemetry", settings.Secrets())
	if s.checking {
		return settings.Try()
	}
	if s.parts.telemetry, err = telemetry.Open(ctx, settings, version, s.log); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	s.closers = append(s.closers, s.parts.telemetry.Close)
	return nil
}

// openDecisionLog opens the decision log, if one is configured.
func (s *Server) openDecisionLog() (err error) {
	if s.config.Log.Folder == "" {
		return nil
	}
	s.parts.log, err = decisionlog.Open(string(s.config.Log.Folder), s.config.Log.Settings)
	if used, ok := errors.AsType[*filelock.InUseError](err); ok {
		return &LogInUseError{used}
	}
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.log.Close)
	s.metrics.WatchLog(s.registry, s.parts.log.Stats)
	return nil
}

// LogInUseError means that another server or an import uses the folder of the decision log.
type LogInUseError struct{ err *filelock.InUseError }

func (e *LogInUseError) Error() string { return "log: " + e.err.Error() }

// Unwrap returns the error of the lock.
func (e *LogInUseError) Unwrap() error { return e.err }

// Hint says what the user can do.
func (e *LogInUseError) Hint() string {
	return "stop the server that writes this log, or choose another folder: --log, or log.folder in the configuration"
}

// openDecider makes the decider, which all protocols share.
func (s *Server) openDecider() (err error) {
	settings := s.config.Decision
	settings.Explore.Folder = string(s.config.Log.Folder)
	s.parts.decider, err = decision.New(s.parts.policies, s.parts.log, s.metrics, s.log, settings)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.decider.Close)
	s.metrics.WatchLedgers(s.registry, s.ledgers)
	s.metrics.WatchBudgets(s.registry, s.budgets)
	return s.openTexts()
}

// openMonitor starts to monitor decisions, if a baseline is configured.
func (s *Server) openMonitor(ctx context.Context) error {
	if s.config.Monitor.Baseline == "" {
		s.mux.HandleFunc("GET /v1/monitor", func(w http.ResponseWriter, r *http.Request) {
			access.WriteError(w, r, http.StatusNotFound, "invalid_request_error", "no_monitor", "this server monitors nothing: no baseline is configured, under monitor.baseline")
		})
		return nil
	}
	m, err := newMonitoring(ctx, s.config.Monitor, s.parts.policies, s.parts.runtime, s.log)
	if err != nil {
		return err
	}
	s.parts.monitor, s.closers = m, append(s.closers, m.close)
	s.registry.MustRegister(monitorFigures{m})
	s.mux.HandleFunc("GET /v1/monitor", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, m.status()) })
	return nil
}

// openProtocols makes the protocols and adds their routes.
func (s *Server) openProtocols(version string) (err error) {
	s.parts.oip, err = oip.New(oip.Options{Policies: s.parts.policies, Decider: s.parts.decider, Metrics: s.metrics, Settings: s.config.OIP, Version: version, Ready: s.Ready})
	if err != nil {
		return err
	}
	s.parts.oip.Register(s.mux)
	s.parts.decide, err = decideapi.New(s.parts.decider, s.log, s.config.Decide, s.absentTags()...)
	if err != nil {
		return err
	}
	s.parts.decide.Register(s.mux)
	return s.openGateway()
}

// absentTags returns the tags of openapi.json whose paths are not served.
func (s *Server) absentTags() (tags []string) {
	for _, part := range []struct {
		tag    string
		served bool
	}{{"outcomes", s.parts.log != nil}, {"gateway", s.config.Gateway.Enabled()}, {"monitor", s.parts.monitor != nil}, {"budgets", s.config.Gateway.Budgets.Enabled()}, {"people", s.parts.people != nil}} {
		if !part.served {
			tags = append(tags, part.tag)
		}
	}
	return tags
}

// openPeople opens the queue of the experts that are people, if there are any.
func (s *Server) openPeople() (err error) {
	settings := s.config.People
	if !settings.Enabled() {
		s.mux.HandleFunc("/v1/people/", people.ServeNone)
		return nil
	}
	if s.parts.people, err = people.Open(settings, people.Options{Log: s.log, InMemory: s.checking}); err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.people.Close)
	s.parts.decider.UsePeople(s.parts.people.Ask)
	s.parts.people.Register(s.mux)
	s.registry.MustRegister(s.parts.people)
	return nil
}

// openGateway opens the experts and their advice, if there are any.
func (s *Server) openGateway() (err error) {
	if !s.config.Gateway.Enabled() {
		gateway.RegisterNone(s.mux)
		return nil
	}
	settings := s.config.Gateway
	settings.Panel.Folder = string(s.config.Log.Folder)
	if settings.Panel.Folder != "" {
		settings.Budgets.Folder = filepath.Join(settings.Panel.Folder, "budgets")
	}
	if s.checking { // servers that run may share it
		settings.Budgets.Shared = ""
	}
	settings.People = s.parts.people
	s.parts.gateway, err = gateway.New(s.parts.decider, s.metrics, s.log, settings)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, s.parts.gateway.Close)
	s.secrets.Set("experts", s.parts.gateway.Secrets())
	s.parts.gateway.Register(s.mux)
	s.parts.policies.WatchOther(policies.Other{Files: s.parts.gateway.PriceFiles, Read: s.parts.gateway.ReadPrices})
	return nil
}

// watchPolicies reloads policies whose files change, until ctx ends.
func (s *Server) watchPolicies(ctx context.Context) {
	if err := s.parts.policies.Watch(ctx); err != nil && !errors.Is(err, context.Canceled) {
		s.log.Error("files of policies are no longer watched; SIGHUP still reads them again", "error", err.Error())
	}
}
