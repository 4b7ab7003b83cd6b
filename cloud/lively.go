package cloud

import (
	"context"
	"net"
	"net/http"
	"time"
)

// silence is how long a connection may stand still. A store that takes a request and never answers would hold a command
// for ever, for TCP finds that nothing is wrong.
var silence = time.Minute

// lively has a transport break connections that stand still.
func lively(t *http.Transport) {
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return livelyConn{conn}, nil
	}
}

// livelyConn puts its deadline off whenever bytes move. A read waits for as long as a write goes on.
type livelyConn struct{ net.Conn }

func (c livelyConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c livelyConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(silence)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
