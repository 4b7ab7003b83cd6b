package engine

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// Worker gives the process its Task. If Beam has started the process as a worker, Worker serves the runner and does not return; closing is called
// before the process ends, unless it is killed.
func Worker(t Task, closing func()) {
	task = t
	switch {
	case os.Getenv(workerVariable) != "":
		ended := make(chan error, 2)
		go func() { ended <- serve(os.Args[1:]) }()
		go func() { ended <- untilEnded(os.Getppid()) }()
		err := <-ended
		go func() { // native calls cannot be interrupted
			time.Sleep(10 * time.Second)
			os.Exit(1)
		}()
		closing()
		if err != nil {
			fmt.Fprintln(os.Stderr, "pipe-beam: worker:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case slices.Contains(os.Args[1:], "--worker=true"): // started by the boot program of Beam's containers
		flag.Parse()
		beam.Init()
	}
}

// serve is the worker of the environment Process: it asks the runner for its addresses and then takes work, until the runner ends the
// connection or is gone. Beam's own boot program would start a second process, which outlives the first.
func serve(args []string) error {
	id, address := argument(args, "id"), argument(args, "provision_endpoint")
	if id == "" || address == "" {
		return errors.New("a runner must start it: it needs --id and --provision_endpoint")
	}
	ctx := grpcx.WriteWorkerID(context.Background(), id)
	info, err := tools.ProvisionInfo(ctx, address)
	if err != nil {
		return fmt.Errorf("ask the runner for its addresses: %w", err)
	}
	if err := takeOptions(info.GetPipelineOptions().AsMap()); err != nil {
		return err
	}
	beam.Init()
	return harness.MainWithOptions(ctx, info.GetLoggingEndpoint().GetUrl(), info.GetControlEndpoint().GetUrl(), harness.Options{
		RunnerCapabilities: info.GetRunnerCapabilities(), StatusEndpoint: info.GetStatusEndpoint().GetUrl(),
	})
}

// argument returns the value of a flag --NAME=VALUE. Prism quotes values, as for a shell.
func argument(args []string, name string) string {
	for _, a := range args {
		if value, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			return strings.Trim(value, "'")
		}
	}
	return ""
}

// takeOptions hands the options of the job to the SDK.
func takeOptions(options map[string]any) error {
	b, err := json.Marshal(options["beam:option:go_options:v1"])
	if err != nil {
		return err
	}
	var raw runtime.RawOptions
	if err := json.Unmarshal(b, &raw); err != nil {
		return fmt.Errorf("read the options of the job: %w", err)
	}
	runtime.GlobalOptions.Import(raw)
	return nil
}

// untilEnded waits until the runner ends this process, or is gone itself: a runner that is killed cannot end its workers.
func untilEnded(parent int) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	for os.Getppid() == parent { // soon, for meanwhile the runner may give the same shard to another worker
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("the runner is gone")
}
