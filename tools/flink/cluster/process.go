package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// opened are packages of Java that Flink looks into by reflection.
const opened = "java.lang java.lang.reflect java.io java.net java.nio java.text java.time java.util java.util.concurrent java.util.concurrent.atomic java.util.concurrent.locks sun.nio.ch"

// process is a program that was started, and how it ended.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // once ended is closed
}

func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end asks the process to end, and kills it if it has not after patience.
func (p *process) end(patience time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// startJava starts a program of the jars in the background, with its own log.
func startJava(o Options, name, memory string, args ...string) (*process, error) {
	flags := []string{memory, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxMetaspaceSize=256m", "--add-exports=java.base/sun.net.util=ALL-UNNAMED"}
	for name := range strings.FieldsSeq(opened) {
		flags = append(flags, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	flags = append(flags, "-cp", filepath.Join(o.Jars, "*"))
	log, err := os.OpenFile(o.path("logs", name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the process has its own
	p := &process{cmd: exec.Command("java", slices.Concat(flags, args)...), ended: make(chan struct{})}
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = o.path("tmp"), log, log
	p.cmd.Env = append(os.Environ(), append(o.Environment, "FLINK_CONF_DIR="+o.path("conf"))...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// memory returns the resident memory, in bytes.
func (p *process) memory() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}

// coreTime returns the time that cores have spent on the process and on those of its children that have ended.
func (p *process) coreTime() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return coreTimeOf(string(b))
}

// coreTimeOf reads the line of /proc/PID/stat. The name of the program, in parentheses, may have spaces and parentheses.
func coreTimeOf(stat string) (sum time.Duration) {
	const (
		first, last = 11, 14 // utime, stime, cutime, cstime, counted behind the name
		tick        = 10 * time.Millisecond
	)
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) <= last {
		return 0
	}
	for _, field := range fields[first : last+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}
