package service

import (
	"net"
	"net/url"
	"strings"
	"sync"

	"pipe/experts/builder/part"
)

// Accounts are the accounts that the parts of a build share: one for each
// service and key. Account is for constructors, which run one after the other;
// WarnOpen is safe for concurrent use.
type Accounts struct {
	note     func(format string, args ...any)
	workers  int // that share the limits; 0: this one
	accounts map[payer]*Account
	open     sync.Map // addresses of services for which the user was warned about an unencrypted key
}

// payer identifies an account.
type payer struct{ url, key string }

// NewAccounts returns an empty set of accounts. note reports waits to the user;
// it must be safe for concurrent use.
func NewAccounts(note func(format string, args ...any)) *Accounts {
	return &Accounts{note: note, accounts: make(map[payer]*Account)}
}

// Share divides all limits that are set later among a number of workers, each of which has its own Accounts.
func (a *Accounts) Share(workers int) { a.workers = workers }

// AccountsOf returns the accounts of a build, which all its parts share.
func AccountsOf(b *part.Build) *Accounts {
	a, err := part.Shared(b, "", func() (*Accounts, error) { return NewAccounts(b.Progress.Note), nil })
	if err != nil {
		panic(err) // the function never fails
	}
	return a
}

// Account returns the account at a service for a key, identified by the name of
// its variable, and sets limits on it; 0 is none.
func (a *Accounts) Account(url, key string, requestsPerSecond, tokensPerMinute float64) *Account {
	p := payer{url, key}
	if a.accounts[p] == nil {
		a.accounts[p] = newAccount(a.note)
	}
	n := float64(max(1, a.workers))
	a.accounts[p].limit(requestsPerSecond/n, tokensPerMinute/n)
	return a.accounts[p]
}

// Unshared returns an account for a single part, without limits.
func (a *Accounts) Unshared() *Account { return newAccount(a.note) }

// WarnOpen warns, once per run and service, that a key is sent unencrypted:
// over http to another machine.
func (a *Accounts) WarnOpen(service string) {
	u, err := url.Parse(service)
	if err != nil || u.Scheme != "http" || isLoopback(u.Hostname()) {
		return
	}
	if _, said := a.open.LoadOrStore(u.Host, true); !said {
		a.note("service http://%s gets its key, or user and password, unencrypted: whoever passes it on can read them; an https:// URL keeps them secret", u.Host)
	}
}

// isLoopback reports whether a host is this machine by its name or its address.
func isLoopback(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || net.ParseIP(host).IsLoopback()
}
