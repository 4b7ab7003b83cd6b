package access

import (
	"time"

	"pipe/internal/config"
)

// Limits bound the resources that clients can use.
type Limits struct {
	Body        int           `yaml:"body"`        // most bytes of the body of a request, also of a gRPC message
	Header      int           `yaml:"header"`      // most bytes of the head of a request
	Connections int           `yaml:"connections"` // most open connections of each listener; more wait in the system's queue
	Active      int           `yaml:"active"`      // most requests that run at once
	Queue       int           `yaml:"queue"`       // most requests that wait for a place; more are answered with 429
	QueueWait   time.Duration `yaml:"queue_wait"`  // longest wait in the queue, then 429
	BodyTime    time.Duration `yaml:"body_time"`   // longest time to read a body
	HeaderTime  time.Duration `yaml:"header_time"` // longest time to read a head
	WriteTime   time.Duration `yaml:"write_time"`  // longest time for a client to accept a part of an answer
	IdleTime    time.Duration `yaml:"idle_time"`   // after which a connection without requests is closed
}

// DefaultLimits suit a server with 10,000 clients.
func DefaultLimits() Limits {
	return Limits{
		Body: 64 << 20, Header: 64 << 10, Connections: 20000, Active: 1024, Queue: 1024, QueueWait: 2 * time.Second,
		BodyTime: time.Minute, HeaderTime: 10 * time.Second, WriteTime: time.Minute, IdleTime: 2 * time.Minute,
	}
}

// Validate lists every problem of the limits.
func (l Limits) Validate() error {
	var p config.Problems
	p.Check(l.Body > 0 && l.Body <= 1<<30, "body must be from 1 to %d bytes", 1<<30)
	p.Check(l.Header >= 4<<10 && l.Header <= 1<<20, "header must be from %d to %d bytes", 4<<10, 1<<20)
	p.Check(l.Connections > 0, "connections must be positive")
	p.Check(l.Active > 0, "active must be positive")
	p.Check(l.Queue >= 0, "queue must not be negative")
	p.Check(l.QueueWait > 0, "queue_wait must be positive")
	p.Check(l.BodyTime > 0 && l.HeaderTime > 0 && l.WriteTime > 0 && l.IdleTime > 0, "body_time, header_time, write_time and idle_time must be positive")
	return p.Err()
}
