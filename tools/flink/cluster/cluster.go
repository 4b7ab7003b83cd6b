package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// The addresses of the cluster, which files/flink-conf.yaml sets too.
const (
	Endpoint = "localhost:18099" // of the job server: what a Beam program submits jobs to
	Rest     = "localhost:18081" // of the JobManager
	artifact = "18098"
)

// Cluster is a running cluster. Its methods are for one goroutine.
type Cluster struct {
	o         Options
	processes map[string]*process
	started   int // TaskManagers, also those that have ended
}

// Start starts a cluster and waits until it takes jobs. The caller must stop it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	if err := alone(); err != nil {
		return nil, err
	}
	c := &Cluster{o: o, processes: map[string]*process{}}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, fmt.Errorf("start a Flink cluster: %w; its logs are in %s", err, c.o.path("logs"))
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.java("jobmanager", "-Xmx192m", "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint",
		"--configDir", c.o.path("conf")); err != nil {
		return err
	}
	for range c.o.TaskManagers {
		if err := c.startTaskManager(); err != nil {
			return err
		}
	}
	if err := c.startJobServer(); err != nil {
		return err
	}
	return c.waitReady(ctx)
}

func (c *Cluster) waitReady(ctx context.Context) error {
	if err := c.wait(ctx, "slots", func() bool { return c.slots() == 2*c.taskManagers() }); err != nil {
		return err
	}
	return c.wait(ctx, "the job server", listening(Endpoint))
}

// alone returns an error if the network has other devices than the loopback device.
func alone() error {
	devices, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if d.Flags&net.FlagLoopback == 0 {
			return fmt.Errorf("the job server would be reachable through %s: start the cluster with go run ./tools/flink run", d.Name)
		}
	}
	return nil
}

// writeFiles makes the folders and files that the processes read.
func (c *Cluster) writeFiles() error {
	for _, folder := range []string{"conf", "logs", "tmp", "artifacts"} {
		if err := os.MkdirAll(c.o.path(folder), 0o755); err != nil {
			return err
		}
	}
	conf, err := files.ReadFile("files/flink-conf.yaml")
	if err != nil {
		return err
	}
	conf = fmt.Appendf(conf, "io.tmp.dirs: %s\n", c.o.path("tmp"))
	launcher, err := files.ReadFile("files/JobServer.java")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(c.o.path("conf", "flink-conf.yaml"), conf, 0o644),
		os.WriteFile(c.o.path("JobServer.java"), launcher, 0o644))
}

// slots returns the number of slots that the JobManager knows, 0 if it does not answer.
func (c *Cluster) slots() int {
	client := http.Client{Timeout: time.Second}
	r, err := client.Get("http://" + Rest + "/overview")
	if err != nil {
		return 0
	}
	defer r.Body.Close()
	var overview struct {
		Slots int `json:"slots-total"`
	}
	if json.NewDecoder(r.Body).Decode(&overview) != nil {
		return 0
	}
	return overview.Slots
}

func listening(address string) func() bool {
	return func() bool {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}
}

// wait waits up to two minutes until ready, or until a process has ended that should run.
func (c *Cluster) wait(ctx context.Context, what string, ready func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for !ready() {
		for name, p := range c.processes {
			if p.hasEnded() {
				return fmt.Errorf("%s has ended: %v", name, p.err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}
