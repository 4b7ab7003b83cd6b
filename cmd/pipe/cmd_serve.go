package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"pipe/internal/config"
	"pipe/pipeline/inspect"
	"pipe/serve"
)

const serveText = `Serve answers requests with policies, over HTTP and gRPC.

  /v2/...               the Open Inference Protocol, for clients of Triton, KServe and MLServer, also over gRPC
  /v1/decide            which pair should answer: for features, raw rows, texts, messages and images
  /v1/outcomes          what became of a decision
  /v1/chat/completions  a gateway that decides, calls the expert and returns its answer; also /v1/responses and /v1/messages
  /v1/budgets           what the gateway's budgets have left
  /                     a page about what is decided now
  /metrics, /healthz, /readyz, /openapi.json

For policies alone, flags are enough. A YAML file (--config) has everything else: experts, keys, limits, the decision log.
Flags replace what the file says. A policy's name is that of its file without .onnx.

When the server is ready, its addresses are printed on standard output, one URL on each line: http:// first, then grpc://
if there is one. With --json it is one object on one line. Port 0 takes a free port. Logs are JSON lines on standard error.

SIGTERM and SIGINT end the server when running requests have been answered. A second signal ends it at once. SIGHUP, and
POST /v1/policies/reload, read the price file, policies, keys, certificates and the gateway's part of the configuration
again; what cannot be read is refused, and the old one stays. docs/serve.md and docs/gateway.md describe the file.

Addresses that other machines can reach need keys, unless --without-keys says that everybody may call.`

const serveExamples = `  pipe serve --policy out/policies
  pipe serve --policy policy.onnx --listen 127.0.0.1:8080 --grpc 127.0.0.1:8081
  pipe serve --policy policy.onnx --encoder policy=encoder.json --listen 127.0.0.1:0 --json
  pipe serve --config serve.yaml
  pipe serve --config serve.yaml --check`

// serveFlags are the flags of serve.
type serveFlags struct {
	config   string
	policies []string
	encoders map[string]string
	log      config.Path
	prices   config.Path
	check    bool
	over     serve.Config // what flags say instead of the file
}

func serveCommand(a *app) *cobra.Command {
	o := &serveFlags{over: serve.DefaultConfig()}
	c := &cobra.Command{
		Use:     "serve --policy PATH | --config FILE",
		Short:   "Serve policies over HTTP and gRPC, with a gateway to experts",
		Long:    serveText,
		Example: serveExamples,
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return runServe(c, a, o) },
	}
	f := c.Flags()
	f.StringVar(&o.config, "config", "", "the YAML file of the server")
	f.StringSliceVar(&o.policies, "policy", nil, "policy files, and folders of them")
	f.StringToStringVar(&o.encoders, "encoder", nil, "encoders of policies that have none in front, such as `NAME=encoder.json`")
	f.StringVar((*string)(&o.prices), "prices", "", "price file of tokens and calls, for any-price policies that estimate what calls use; it is read again when it changes")
	f.StringVar(&o.over.Listen, "listen", o.over.Listen, "address of HTTP")
	f.StringVar(&o.over.GRPC, "grpc", "", "address of gRPC (default: none)")
	f.StringVar((*string)(&o.over.TLS.Cert), "tls-cert", "", "certificate in PEM; turns TLS on")
	f.StringVar((*string)(&o.over.TLS.Key), "tls-key", "", "private key of the certificate in PEM")
	f.StringVar((*string)(&o.log), "log", "", "folder of the decision log (default: none)")
	f.BoolVar(&o.over.WithoutKeys, "without-keys", false, "allow addresses that other machines can reach although no keys are configured")
	f.BoolVar(&o.check, "check", false, "open everything, say what would be served and what is wrong, and end; nothing is sent to experts")
	return c
}

// settings are the configuration of the file with what the flags say instead.
func (o *serveFlags) settings(c *cobra.Command, a *app) (serve.Config, error) {
	s := serve.DefaultConfig()
	var err error
	if o.config != "" {
		if s, err = serve.Load(o.config); err != nil {
			return s, err
		}
	}
	given := c.Flags().Changed
	for flag, set := range map[string]func(){
		"policy":       func() { s.Policies.Paths = o.policies },
		"encoder":      func() { s.Policies.Encoders = o.encoders },
		"prices":       func() { s.Policies.Prices = string(o.prices) },
		"listen":       func() { s.Listen = o.over.Listen },
		"grpc":         func() { s.GRPC = o.over.GRPC },
		"tls-cert":     func() { s.TLS.Cert = o.over.TLS.Cert },
		"tls-key":      func() { s.TLS.Key = o.over.TLS.Key },
		"log":          func() { s.Log.Folder = o.log },
		"without-keys": func() { s.WithoutKeys = o.over.WithoutKeys },
	} {
		if given(flag) {
			set()
		}
	}
	if a.Quiet {
		s.Logs.Level = "error"
	}
	err = s.Validate()
	switch {
	case err == nil:
		return s, nil
	case o.config != "":
		return s, &config.Error{File: o.config, Problems: config.Lines(err)}
	}
	return s, usage(c, "%v", err)
}

func runServe(c *cobra.Command, a *app, o *serveFlags) error {
	settings, err := o.settings(c, a)
	if err != nil {
		return err
	}
	options := serve.Options{Log: a.Stderr, Runtime: a.runtime, Version: inspect.Version()}
	if o.check {
		options.Log = nil // the report has what it would say
		report := serve.Check(c.Context(), settings, options)
		return errors.Join(a.Print(report), report.Err())
	}
	a.Await(settings.StopNotice() + settings.Stop.Drain + patience)
	hangup := hangups()
	defer signal.Stop(hangup)
	options.Reread = func() (serve.Config, error) { return o.settings(c, a) }
	s, err := serve.New(c.Context(), settings, options)
	if err != nil {
		return err
	}
	if err := (&served{s.Addresses()}).print(a); err != nil {
		return fmt.Errorf("print the addresses: %w", err)
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	go func() {
		for {
			select {
			case <-hangup:
				s.Reload(ctx)
			case <-ctx.Done():
				return
			}
		}
	}()
	return s.Run(c.Context())
}

// hangups receives SIGHUP, which no longer ends the program.
func hangups() chan os.Signal {
	signal.Ignore(syscall.SIGHUP) // takes it from the handler that ends the program
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// served is what serve prints when it is ready.
type served struct{ serve.Addresses }

// print writes the addresses: with --json an object of one line, so that its reader knows the end.
func (s *served) print(a *app) error {
	if a.JSON {
		return json.NewEncoder(a.Stdout).Encode(s)
	}
	return a.Print(s)
}

// WriteText writes a URL on each line.
func (s *served) WriteText(w io.Writer) error {
	text := s.HTTP + "\n"
	if s.GRPC != "" {
		text += s.GRPC + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
