package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pipe/pipeline/inspect"
)

const doctorText = `Doctor describes the machine, shows where ONNX Runtime was searched and found and which devices it offers, and runs a small
graph. It also looks for two optional libraries: LightGBM, for boosted trees, and libjpeg-turbo, for faster JPEG decoding.
The exit code is 4 if the device of --device does not work.

With --server it checks nothing but a running server: the exit code is 1 unless that is ready. Containers use it as their
health check, because they have no other program.`

const doctorExamples = `  pipe doctor
  pipe doctor --device cuda
  pipe doctor --runtime /opt/onnxruntime/lib --json
  pipe doctor --server http://127.0.0.1:8080`

func doctorCommand(a *app) *cobra.Command {
	var server string
	c := &cobra.Command{
		Use:     "doctor",
		Short:   "Check the machine and the runtime library",
		Long:    doctorText,
		Example: doctorExamples,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			switch asked := c.Flags().Changed("server"); {
			case asked && !strings.HasPrefix(server, "http://") && !strings.HasPrefix(server, "https://"):
				return usage(c, "--server %q is not a URL: write it as http://127.0.0.1:8080", server)
			case asked:
				return askServer(c.Context(), a, server)
			}
			return runDoctor(c, a)
		},
	}
	c.Flags().StringVar(&server, "server", "", "ask only the server at this URL whether it is ready")
	return c
}

// health is what a server says about itself.
type health struct {
	Ready bool `json:"ready"`
}

// WriteText writes a line.
func (h health) WriteText(w io.Writer) error {
	_, err := fmt.Fprintln(w, "the server is ready")
	return err
}

// askServer fails unless the server at url answers within some seconds that it is ready.
func askServer(ctx context.Context, a *app, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(url, "/")+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("the server at %s is not ready: it answers %s", url, answer.Status)
	}
	return a.Print(health{Ready: true})
}

func runDoctor(c *cobra.Command, a *app) error {
	checkup := inspect.Doctor(c.Context(), a.runtime)
	if err := a.Print(checkup); err != nil {
		return err
	}
	return checkup.Err(a.runtime.Device)
}
