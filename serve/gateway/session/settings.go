package session

import (
	"net/textproto"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/net/http/httpguts"

	"pipe/internal/config"
)

// Settings of sessions. A configuration that has the section has sessions.
type Settings struct {
	On bool `yaml:"on"`
	// Header is the request header that names the conversation. Empty, or where a request lacks it: conversations are told by
	// the digest of their messages.
	Header string `yaml:"header"`
	// TTL is how long a service keeps a prompt in its cache, where the price of its model does not say.
	TTL time.Duration `yaml:"ttl"`
	// Turns is the number of turns that a conversation is expected to have after the present one.
	Turns float64 `yaml:"turns"`
	// Keep keeps the expert while the results of its tool calls are sent, unless it is not available.
	Keep bool `yaml:"keep"`
	// Sessions is the most conversations that are remembered, and Memory the most bytes that they take. The one that was
	// used least recently is forgotten first.
	Sessions int `yaml:"sessions"`
	Memory   int `yaml:"memory"`
	// File keeps the conversations through a restart. It has digests and numbers, no texts. Empty: they are kept in memory only.
	File config.Path `yaml:"file"`
	// Flush is the interval in which the file is written: what a kill loses at most.
	Flush time.Duration `yaml:"flush"`

	// Key is mixed into digests, so that they cannot be guessed from texts. The server sets it: decision.user_key.
	Key string `yaml:"-"`
}

// DefaultSettings are off.
func DefaultSettings() Settings {
	return Settings{TTL: 5 * time.Minute, Turns: 3, Keep: true, Sessions: 100_000, Memory: 64 << 20, Flush: 10 * time.Second}
}

// UnmarshalYAML reads the settings over their defaults, with On set.
func (s *Settings) UnmarshalYAML(n *yaml.Node) error {
	type plain Settings // avoids recursion into this method
	v := plain(DefaultSettings())
	v.On = true
	if err := n.Load(&v, yaml.WithKnownFields()); err != nil {
		return err
	}
	*s = Settings(v)
	return nil
}

// Limits of settings.
const (
	maxTurns    = 1000
	maxSessions = 10_000_000
	minMemory   = 1 << 16
	maxMemory   = 1 << 36
	maxTTL      = 30 * 24 * time.Hour
)

// Validate reports every problem. It opens no file.
func (s *Settings) Validate() error {
	var p config.Problems
	p.Check(s.Header == "" || httpguts.ValidHeaderFieldName(s.Header) && textproto.CanonicalMIMEHeaderKey(s.Header) != "Authorization",
		"header: %q cannot be the name of a header that names conversations", s.Header)
	p.Check(s.TTL >= time.Second && s.TTL <= maxTTL, "ttl: is %v, not 1s to %v", s.TTL, maxTTL)
	p.Check(s.Turns >= 0 && s.Turns <= maxTurns, "turns: is %v, not 0 to %d", s.Turns, maxTurns)
	p.Check(s.Sessions >= 1 && s.Sessions <= maxSessions, "sessions: is %d, not 1 to %d", s.Sessions, maxSessions)
	p.Check(s.Memory >= minMemory && s.Memory <= maxMemory, "memory: is %d, not %d to %d bytes", s.Memory, minMemory, maxMemory)
	p.Check(s.Flush >= 10*time.Millisecond && s.Flush <= time.Hour, "flush: is %v, not 10ms to 1h", s.Flush)
	return p.Err()
}

// fixed are the settings that cannot change while the server runs.
func (s Settings) fixed() Settings {
	return Settings{On: s.On, Sessions: s.Sessions, Memory: s.Memory, File: s.File, Flush: s.Flush, Key: s.Key}
}

// Same reports whether settings can replace others while the server runs.
func (s Settings) Same(other Settings) bool { return s.fixed() == other.fixed() }
