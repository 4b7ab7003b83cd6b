package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// connection sends requests one after another.
type connection struct {
	host        string
	requests    [][]byte
	next        int
	from, until time.Time     // when it is measured
	every       time.Duration // between two requests; 0: at once
	due         time.Time     // of the next request

	net    net.Conn
	in     int // bytes of bodies
	reader *bufio.Reader
	times  []time.Duration
	status map[int]int
	failed map[string]int

	refusal string // the body of the first answer whose status is 400 or more, cut
}

// answerTime is the longest that an answer is waited for.
const answerTime = time.Minute

// run sends requests until the end.
func (c *connection) run() {
	c.status, c.failed = map[int]int{}, map[string]int{}
	defer c.close()
	for {
		start := c.begin()
		if start.After(c.until) {
			return
		}
		status, n, err := c.exchange()
		end := time.Now()
		if start.Before(c.from) || end.After(c.until) && c.every == 0 {
			continue
		}
		if err != nil {
			c.failed[reason(err)]++
			time.Sleep(time.Millisecond) // not to spin where nothing listens
			continue
		}
		c.in += n
		c.status[status]++
		c.times = append(c.times, end.Sub(start))
	}
}

// begin waits until the next request is due, and returns from when its time counts: from when it was due if the answer to
// the last one came later than that, which is the fault of the server, and else from now, since the wait may end late.
func (c *connection) begin() time.Time {
	now := time.Now()
	if c.every == 0 {
		return now
	}
	due := c.due
	c.due = due.Add(c.every)
	if !due.After(now) || due.After(c.until) {
		return due
	}
	time.Sleep(due.Sub(now))
	return time.Now()
}

func (c *connection) close() {
	if c.net != nil {
		_ = c.net.Close() // all answers have been read
		c.net = nil
	}
}

// reason is an error without addresses, so that equal ones are counted together.
func reason(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op + ": " + op.Err.Error()
	}
	return err.Error()
}

// exchange sends a request and reads the answer, of which n are the bytes of the body.
func (c *connection) exchange() (status, n int, err error) {
	if c.net == nil {
		if c.net, err = net.Dial("tcp", c.host); err != nil {
			c.net = nil
			return 0, 0, err
		}
		c.reader = bufio.NewReaderSize(c.net, 16<<10)
	}
	defer func() {
		if err != nil {
			c.close()
		}
	}()
	if err := c.net.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return 0, 0, err
	}
	request := c.requests[c.next%len(c.requests)]
	c.next++
	if _, err := c.net.Write(request); err != nil {
		return 0, 0, err
	}
	return c.answer()
}

// answer reads an answer to its end.
func (c *connection) answer() (status, n int, err error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return 0, 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return 0, 0, errors.New("the answer is not HTTP")
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, 0, errors.New("the answer has no status")
	}
	length, end, err := c.head()
	switch {
	case err != nil:
		return status, 0, err
	case length == chunked:
		n, err = c.chunks()
	case length < 0:
		return status, 0, errors.New("the answer has no length")
	case status >= 400 && c.refusal == "":
		n, err = c.refused(length)
	default:
		n, err = c.reader.Discard(length)
	}
	if end {
		c.close()
	}
	return status, n, err
}

// refused reads the body of an answer with an error, and keeps its beginning.
func (c *connection) refused(length int) (n int, err error) {
	b := make([]byte, min(length, 300))
	if n, err = io.ReadFull(c.reader, b); err != nil {
		return n, err
	}
	c.refusal = string(b)
	rest, err := c.reader.Discard(length - n)
	return n + rest, err
}

// chunked is the length of a body that comes in chunks.
const chunked = -2

// head reads the headers: the length of the body, and whether the server closes the connection after it.
func (c *connection) head() (length int, end bool, err error) {
	length = -1
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, false, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return length, end, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 {
				return 0, false, errors.New("the answer has a wrong length")
			}
		case is(name, "transfer-encoding"):
			length = chunked
		case is(name, "connection"):
			end = strings.EqualFold(string(value), "close")
		}
	}
}

func is(name []byte, lower string) bool {
	return len(name) == len(lower) && strings.EqualFold(string(name), lower)
}

// chunks reads a body in chunks.
func (c *connection) chunks() (n int, err error) {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return n, err
		}
		size, _, _ := bytes.Cut(bytes.TrimSpace(line), []byte(";"))
		length, err := strconv.ParseUint(string(size), 16, 31)
		if err != nil {
			return n, fmt.Errorf("the answer has a wrong chunk %q", size)
		}
		if _, err := c.reader.Discard(int(length) + 2); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return n, err
		}
		if length == 0 {
			return n, nil
		}
		n += int(length)
	}
}
