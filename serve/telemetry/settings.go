package telemetry

import (
	"fmt"
	"net/url"
	"os"

	"golang.org/x/net/http/httpguts"

	"pipe/experts/service"
	"pipe/internal/config"
)

// Settings say where traces and metrics are sent. Without an endpoint there is no telemetry.
type Settings struct {
	// Endpoint is the address of a collector that speaks OTLP over HTTP, such as http://127.0.0.1:4318; v1/traces and v1/metrics
	// are added to it.
	Endpoint string `yaml:"endpoint"`
	// Headers are extra headers of exports. Their values are treated as secrets.
	Headers map[string]service.Secret `yaml:"headers"`
	CAFile  config.Path               `yaml:"ca_file"` // PEM file of certificates to trust besides those of the system
	Service string                    `yaml:"service"` // service.name; empty: that of OTEL_SERVICE_NAME, or pipe
	// Sample is the share of the traces without a parent that are recorded. A caller's decision for a trace is kept. nil: that of
	// OTEL_TRACES_SAMPLER, or all.
	Sample *float64 `yaml:"sample"`
}

// Enabled reports whether anything is sent.
func (s *Settings) Enabled() bool {
	return s.Endpoint != "" && os.Getenv("OTEL_SDK_DISABLED") != "true"
}

// Validate reports every problem. It opens nothing.
func (s *Settings) Validate() error {
	var p config.Problems
	u, err := url.Parse(s.Endpoint)
	p.Check(s.Endpoint == "" || err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && u.RawQuery == "" && u.Fragment == "",
		"endpoint: is no address of a collector, such as http://127.0.0.1:4318: scheme, host and path only")
	p.Check(s.Endpoint != "" || s.Headers == nil && s.CAFile == "" && s.Service == "" && s.Sample == nil, "endpoint: not set, so the other settings have no use")
	for name, value := range s.Headers {
		p.Check(httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(string(value)), "headers: %q is no header, or its value has control characters", name)
	}
	p.Check(s.Sample == nil || *s.Sample >= 0 && *s.Sample <= 1, "sample: must be 0 to 1")
	return p.Err()
}

// Try reads the files of the settings. It sends nothing.
func (s *Settings) Try() error {
	if _, err := service.NewClient(1, string(s.CAFile)); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	return nil
}

// Secrets are the texts that must not be shown.
func (s *Settings) Secrets() (all []string) {
	for _, value := range s.Headers {
		all = append(all, string(value))
	}
	return all
}
