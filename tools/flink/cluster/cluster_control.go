package cluster

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// java starts a process of the cluster, and writes its number into a file.
func (c *Cluster) java(name, memory string, args ...string) error {
	p, err := startJava(c.o, name, memory, args...)
	if err != nil {
		return err
	}
	c.processes[name] = p
	return os.WriteFile(c.o.path(name+".pid"), []byte(strconv.Itoa(p.cmd.Process.Pid)), 0o644)
}

func (c *Cluster) startTaskManager() error {
	c.started++
	name := fmt.Sprintf("taskmanager-%d", c.started)
	return c.java(name, "-Xmx192m", "-XX:MaxDirectMemorySize=112m", "org.apache.flink.runtime.taskexecutor.TaskManagerRunner",
		"--configDir", c.o.path("conf"), "-D", "taskmanager.numberOfTaskSlots=2", "-D", "taskmanager.resource-id="+name)
}

func (c *Cluster) startJobServer() error {
	master := "--flink-master=" + Rest
	return c.java("jobserver", "-Xmx256m", c.o.path("JobServer.java"), master, "--job-host=localhost", "--job-port="+strings.TrimPrefix(Endpoint, "localhost:"),
		"--artifact-port="+artifact, "--expansion-port=-1", "--artifacts-dir="+c.o.path("artifacts"), "--flink-conf-dir="+c.o.path("conf"))
}

// taskManagers returns how many run.
func (c *Cluster) taskManagers() int {
	n := 0
	for name := range c.processes {
		if strings.HasPrefix(name, "taskmanager-") {
			n++
		}
	}
	return n
}

// KillTaskManager kills TaskManager n, from 1, as kill -9 does.
func (c *Cluster) KillTaskManager(n int) error {
	name := fmt.Sprintf("taskmanager-%d", n)
	p := c.processes[name]
	if p == nil {
		return fmt.Errorf("kill %s: it does not run", name)
	}
	p.kill()
	delete(c.processes, name)
	return nil
}

// AddTaskManager starts one more TaskManager and waits until the JobManager knows it.
func (c *Cluster) AddTaskManager(ctx context.Context) error {
	if err := c.startTaskManager(); err != nil {
		return err
	}
	return c.waitReady(ctx)
}

// RestartJobServer kills the job server, as kill -9 does, and starts another one. Jobs that it has given to Flink go on.
func (c *Cluster) RestartJobServer(ctx context.Context) error {
	c.processes["jobserver"].kill()
	delete(c.processes, "jobserver")
	if err := c.startJobServer(); err != nil {
		return err
	}
	return c.wait(ctx, "the job server", listening(Endpoint))
}

// Memory returns the resident memory of every process by name, in bytes.
func (c *Cluster) Memory() map[string]int64 {
	out := map[string]int64{}
	for name, p := range c.processes {
		out[name] = p.memory()
	}
	return out
}

// CoreTime returns the time that cores have spent on the processes that run, and on their workers that have ended.
func (c *Cluster) CoreTime() (sum time.Duration) {
	for _, p := range c.processes {
		sum += p.coreTime()
	}
	return sum
}

// Stop ends all processes of the cluster. It may be called twice.
func (c *Cluster) Stop() {
	for _, p := range c.processes {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	for name, p := range c.processes {
		p.end(10 * time.Second)
		delete(c.processes, name)
	}
}
