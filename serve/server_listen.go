package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"golang.org/x/net/netutil"
)

// listeners are the open listeners.
type listeners struct {
	http, grpc net.Listener // nil: none
}

func (l *listeners) close() error {
	var problems []error
	for _, one := range []net.Listener{l.http, l.grpc} {
		if one == nil {
			continue
		}
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			problems = append(problems, err)
		}
	}
	l.http, l.grpc = nil, nil
	return errors.Join(problems...)
}

// listen opens the addresses of the configuration.
func (s *Server) listen(ctx context.Context) (err error) {
	secure := ""
	if s.certs != nil {
		secure = "s"
	}
	if s.open.http, err = s.listenOn(ctx, s.config.Listen); err != nil {
		return err
	}
	s.addresses.HTTP = "http" + secure + "://" + s.open.http.Addr().String()
	if s.certs != nil {
		s.open.http = tls.NewListener(s.open.http, s.certs.Config("h2", "http/1.1"))
	}
	if s.config.GRPC == "" {
		return nil
	}
	if s.open.grpc, err = s.listenOn(ctx, s.config.GRPC); err != nil {
		return err
	}
	s.addresses.GRPC = "grpc" + secure + "://" + s.open.grpc.Addr().String()
	return nil
}

func (s *Server) listenOn(ctx context.Context, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return netutil.LimitListener(l, s.config.Limits.Connections), nil
}

// Addresses are the addresses of a server.
type Addresses struct {
	HTTP string `json:"http"`           // a URL, such as http://127.0.0.1:8080
	GRPC string `json:"grpc,omitempty"` // such as grpc://127.0.0.1:8081; grpcs with TLS
}

// Addresses returns the addresses of the server. Where the configuration has port 0, they have the port that was chosen.
func (s *Server) Addresses() Addresses { return s.addresses }
