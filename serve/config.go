package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/textlog"
	"pipe/serve/access"
	"pipe/serve/dashboard"
	"pipe/serve/decideapi"
	"pipe/serve/decision"
	"pipe/serve/gateway"
	"pipe/serve/oip"
	"pipe/serve/people"
	"pipe/serve/policies"
	"pipe/serve/telemetry"
)

// Path names a file or a folder in a [Config].
type Path = config.Path

// Config says what a server serves, where and to whom, and how it is run. It is the content of the YAML file of pipe serve.
// Each section is a type of the package that it configures.
type Config struct {
	// Listen is the address of HTTP, such as 127.0.0.1:8080. Port 0 chooses a free port.
	Listen string `yaml:"listen"`
	// GRPC is the address of gRPC; empty: no gRPC.
	GRPC string `yaml:"grpc"`
	// WithoutKeys allows a configuration without keys for an address that other machines can reach.
	WithoutKeys bool `yaml:"without_keys"`

	Policies policies.Settings  `yaml:"policies"`
	Decision decision.Settings  `yaml:"decision"`
	Decide   decideapi.Settings `yaml:"decide"`
	OIP      oip.Settings       `yaml:"oip"`
	Gateway  gateway.Settings   `yaml:"gateway"`
	Log      LogSettings        `yaml:"log"`

	People people.Settings `yaml:"people"`

	Monitor MonitorSettings `yaml:"monitor"`

	Page dashboard.Settings `yaml:"page"`

	Access access.Settings `yaml:"access"`
	TLS    access.TLS      `yaml:"tls"`
	Limits access.Limits   `yaml:"limits"`
	Stop   Stop            `yaml:"stop"`
	Logs   Logs            `yaml:"logs"`

	Telemetry telemetry.Settings `yaml:"telemetry"`

	hide func(problems []string) []string // replaces the values of environment variables by ${VAR}; nil: no file was read
}

// LogSettings are the folder and the settings of the decision log.
type LogSettings struct {
	Folder               config.Path `yaml:"folder"` // empty: no log
	decisionlog.Settings `yaml:",inline"`
	// Texts keep the texts on which policies decide, redacted; without a folder none is kept.
	Texts textlog.Settings `yaml:"texts"`
}

// Stop says how the server stops.
type Stop struct {
	// Notice is how long requests are accepted after the server reports that it is not ready, so that load balancers can
	// react. nil: see [Config.StopNotice].
	Notice *time.Duration `yaml:"notice"`
	// Drain is how long running requests may take after that. Then they are cancelled.
	Drain time.Duration `yaml:"drain"`
}

// Logs configure the log of the server, which has JSON lines.
type Logs struct {
	Level    string `yaml:"level"`    // debug, info, warn or error
	Requests string `yaml:"requests"` // which requests are logged: all, errors (status 500 and above) or none
}

// DefaultConfig listens on a loopback address, for HTTP only.
func DefaultConfig() Config {
	return Config{
		Listen:   "127.0.0.1:8080",
		Policies: policies.DefaultSettings(),
		Decision: decision.DefaultSettings(),
		Decide:   decideapi.DefaultSettings(),
		OIP:      oip.DefaultSettings(),
		Gateway:  gateway.DefaultSettings(),
		Log:      LogSettings{Settings: decisionlog.DefaultSettings(), Texts: textlog.DefaultSettings()},
		People:   people.DefaultSettings(),
		Page:     dashboard.DefaultSettings(),
		Monitor:  DefaultMonitorSettings(),
		Access:   access.DefaultSettings(),
		Limits:   access.DefaultLimits(),
		Stop:     Stop{Drain: 30 * time.Second},
		Logs:     Logs{Level: "info", Requests: "errors"},
	}
}

// Load reads a YAML file over the defaults. It does not validate the configuration, because the caller may still change it,
// for example by flags. Problems of the file are a *config.Error.
func Load(file string) (Config, error) {
	type unvalidated Config
	c := unvalidated(DefaultConfig())
	text, err := config.Open(context.Background(), storage.File(file))
	if err != nil {
		return Config(c), err
	}
	if c.hide, err = text.LoadHiding(&c); err != nil {
		return Config(c), err
	}
	c.Policies = resolvePaths(filepath.Dir(file), c.Policies)
	return Config(c), nil
}

// resolvePaths resolves the paths of policies and encoders relative to the folder of the configuration. An encoder for which
// there is no file is left unchanged, because it may be the name of a model.
func resolvePaths(folder string, s policies.Settings) policies.Settings {
	for i, p := range s.Paths {
		s.Paths[i] = config.Resolve(p, storage.File(folder)).URL()
	}
	if s.Prices != "" {
		s.Prices = config.Resolve(s.Prices, storage.File(folder)).URL()
	}
	for name, p := range s.Encoders {
		if _, err := os.Stat(filepath.Join(folder, p)); err == nil && !filepath.IsAbs(p) {
			s.Encoders[name] = filepath.Join(folder, p)
		}
	}
	return s
}

// Validate lists every problem of the configuration, without reading the files that it names. Values of environment
// variables do not appear in the error.
func (c *Config) Validate() error {
	err := c.validate()
	if err == nil || c.hide == nil {
		return err
	}
	var p config.Problems
	for _, line := range c.hide(config.Lines(err)) {
		p.Add(errors.New(line))
	}
	return p.Err()
}

func (c *Config) validate() error {
	var p config.Problems
	p.Check(isAddress(c.Listen), "listen: %q is not an address such as 127.0.0.1:8080", c.Listen)
	p.Check(c.GRPC == "" || isAddress(c.GRPC), "grpc: %q is not an address such as 127.0.0.1:8081", c.GRPC)
	p.Check(c.GRPC == "" || c.GRPC != c.Listen || hasPort(c.GRPC, "0"), "grpc: it needs another port than listen")
	p.Add(config.Under("policies", c.Policies.Validate()))
	p.Add(config.Under("decision", c.Decision.Validate()))
	p.Add(config.Under("decide", c.Decide.Validate()))
	p.Add(config.Under("oip", c.OIP.Validate()))
	p.Add(config.Under("gateway", c.Gateway.Validate()))
	p.Add(config.Under("people", c.People.Validate()))
	p.Add(c.checkPeople())
	p.Add(config.Under("log", c.Log.Validate()))
	p.Add(config.Under("log.texts", c.Log.Texts.Validate()))
	p.Check(c.Log.Texts.Folder == "" || c.Log.Folder != "", "log.texts: texts belong to decisions of the log; set log.folder")
	if c.Gateway.Panel.Enabled() {
		p.Check(c.Log.Folder != "", "gateway.panel: its answers are logged; set log.folder")
		p.Check(c.Log.Sample == 1, "gateway.panel: it makes complete rows, which log.sample %g breaks up; set it to 1", c.Log.Sample)
		p.Check(c.Log.Features == decisionlog.FullFeatures, "gateway.panel: its rows need features; set log.features to %s", decisionlog.FullFeatures)
	}
	p.Check(!c.Gateway.Budgets.Enabled() || c.Log.Folder != "" || c.Gateway.Budgets.Shared != "", "gateway.budgets: they are kept in the folder of the decision log; set log.folder, or budgets.shared for several servers")
	p.Check(c.Gateway.Sessions.File == "" || c.Decision.UserKey != "", "gateway.sessions.file: its digests need decision.user_key, so that nobody can guess texts from them")
	p.Check(c.Decision.Explore.Ledger == nil || c.Log.Folder != "", "decision.explore.ledger: it is kept in the folder of the decision log; set log.folder")
	p.Add(c.checkCandidates())
	p.Add(config.Under("monitor", c.Monitor.Validate()))
	p.Add(config.Under("page", c.Page.Validate()))
	p.Add(config.Under("access", c.Access.Validate()))
	p.Add(config.Under("tls", c.TLS.Validate()))
	p.Add(config.Under("limits", c.Limits.Validate()))
	p.Add(config.Under("telemetry", c.Telemetry.Validate()))
	p.Add(c.checkLocal())
	p.Check(c.Stop.Notice == nil || *c.Stop.Notice >= 0, "stop.notice must not be negative")
	p.Check(c.Stop.Drain > 0, "stop.drain must be positive")
	p.Check(slices.Contains([]string{"debug", "info", "warn", "error"}, c.Logs.Level), "logs.level: %q is not one of debug, info, warn, error", c.Logs.Level)
	p.Check(slices.Contains([]string{"all", "errors", "none"}, c.Logs.Requests), "logs.requests: %q is not one of all, errors, none", c.Logs.Requests)
	p.Check(c.WithoutKeys || c.isClosed(), "without keys, only addresses of this machine are allowed, such as 127.0.0.1; configure access.keys, or allow it by without_keys: true (--without-keys)")
	return p.Err()
}

// checkPeople reports experts that are people and services, too.
func (c *Config) checkPeople() error {
	var p config.Problems
	for name := range c.People.Experts {
		_, both := c.Gateway.Experts[name]
		p.Check(!both, "people.experts.%s: gateway.experts has a service of this name", name)
	}
	return p.Err()
}

// checkCandidates reports what candidates need of the log: it is counted again after a restart.
func (c *Config) checkCandidates() error {
	if len(c.Decision.Candidate) == 0 {
		return nil
	}
	var p config.Problems
	p.Check(c.Log.Folder != "", "decision.candidate: its decisions are counted by the decision log; set log.folder")
	p.Check(c.Log.Sample == 1, "decision.candidate: every decision must be in the log; log.sample is %g, not 1", c.Log.Sample)
	p.Check(c.Log.KeepAge == 0 && c.Log.KeepBytes == 0, "decision.candidate: the log must keep its decisions; log.keep_age and log.keep_bytes must be 0")
	return p.Err()
}

// checkLocal reports URLs of what the server reads again or appends to while it runs.
func (c *Config) checkLocal() error {
	type setting struct {
		name string
		path config.Path
	}
	list := []setting{
		{"log.folder", c.Log.Folder},
		{"access.spent", c.Access.Spent},
		{"tls.cert", c.TLS.Cert},
		{"tls.key", c.TLS.Key},
		{"tls.client_ca", c.TLS.ClientCA},
		{"gateway.panel.answers", c.Gateway.Panel.Answers},
		{"people.folder", c.People.Folder},
		{"gateway.sessions.file", c.Gateway.Sessions.File},
		{"policies.prices", config.Path(c.Policies.Prices)},
	}
	if p := c.Gateway.Patience; p != nil {
		list = append(list, setting{"gateway.patience.file", p.File})
	}
	for _, path := range c.Policies.Paths {
		list = append(list, setting{"policies.paths", config.Path(path)})
	}
	var p config.Problems
	for _, s := range list {
		if err := s.path.CheckLocal(); err != nil {
			p.Add(fmt.Errorf("%s: %w", s.name, err))
		}
	}
	return p.Err()
}

// remoteNotice is long enough for a readiness probe every two seconds, as in deploy/kubernetes.
const remoteNotice = 5 * time.Second

// StopNotice is how long requests are accepted after the server reports that it is not ready: Stop.Notice, or else 5 seconds
// if other machines can reach the server, and 0 if they cannot.
func (c *Config) StopNotice() time.Duration {
	switch {
	case c.Stop.Notice != nil:
		return *c.Stop.Notice
	case c.isLocal():
		return 0
	}
	return remoteNotice
}

// isClosed reports whether access from other machines is impossible or needs a key or a certificate.
func (c *Config) isClosed() bool {
	if len(c.Access.Keys) > 0 || c.Access.KeysFile != "" || c.TLS.ClientCA != "" {
		return true
	}
	return c.isLocal()
}

// isLocal reports whether the server can be reached only from this machine.
func (c *Config) isLocal() bool {
	return access.IsLoopback(c.Listen) && (c.GRPC == "" || access.IsLoopback(c.GRPC))
}

// isAddress reports whether a text is a host and a port. The host may be empty, which means all addresses of the machine.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

// hasPort reports whether an address has a port.
func hasPort(address, port string) bool {
	_, of, err := net.SplitHostPort(address)
	return err == nil && of == port
}
