// Package panels has the settings of panels: which requests several pairs answer in the background, and how their answers are graded. The
// gateway runs them.
package panels

import (
	"strconv"

	"pipe/internal/config"
	"pipe/serve/ledger"
)

// Settings say which requests are answered by several pairs in the background, after the caller's answer, so that the costs of
// every pair become known for them. The zero Share is off.
type Settings struct {
	Share float64 `yaml:"share"` // of the requests that a policy decides on, 0 to 1, drawn at random
	// Pairs is All, or the number of pairs that are drawn at random for each request from those that are available.
	Pairs string `yaml:"pairs"`
	// Budget is the most money of a day, in the currency of the prices of the experts.
	Budget ledger.Settings `yaml:"budget"`
	// CallCost is the most money that one call can cost. It is taken from the budget before a call; what the call cost less is
	// given back. A call whose fee is not known costs as much.
	CallCost float64 `yaml:"call_cost"`
	// Grader grades the answers; nil: they are only kept in Answers.
	Grader *Grader `yaml:"grader"`
	// Answers is a file of JSON lines to which every answer is appended with its conversation, for whoever grades them. With a
	// grader it can be empty: no file.
	Answers config.Path `yaml:"answers"`
	Workers int         `yaml:"workers"` // requests that are answered at once
	Queue   int         `yaml:"queue"`   // most requests that wait; of more, panels are dropped
	// Folder keeps the ledger of the budget. pipe serve sets it to that of the decision log. Empty: a restart begins again.
	Folder string `yaml:"-"`
}

// All is the value of Settings.Pairs for all available pairs.
const All = "all"

// Default is off.
func Default() Settings { return Settings{Pairs: All, Workers: 2, Queue: 64} }

// Enabled reports whether there is a panel.
func (p *Settings) Enabled() bool { return p.Share > 0 }

// Number is the number of pairs for each request; 0: all.
func (p *Settings) Number() int {
	n, err := strconv.Atoi(p.Pairs)
	if err != nil { // All
		return 0
	}
	return n
}

// Fixed are the settings that hold until the server is started again.
func (p Settings) Fixed() Settings {
	p.Share, p.Pairs, p.CallCost, p.Folder, p.Grader = 0, "", 0, "", nil
	return p
}

const (
	maxWorkers = 1024
	maxQueue   = 1 << 16
)

// Validate reports every problem.
func (p *Settings) Validate() error {
	var all config.Problems
	all.Check(p.Share >= 0 && p.Share <= 1, "share: is %g, not from 0 to 1", p.Share)
	n, err := strconv.Atoi(p.Pairs)
	all.Check(p.Pairs == All || err == nil && n >= 1, "pairs: is %q, neither %s nor a number of at least 1", p.Pairs, All)
	all.Check(p.Workers >= 1 && p.Workers <= maxWorkers, "workers: is %d, not 1 to %d", p.Workers, maxWorkers)
	all.Check(p.Queue >= 1 && p.Queue <= maxQueue, "queue: is %d, not 1 to %d", p.Queue, maxQueue)
	if !p.Enabled() {
		return all.Err()
	}
	all.Add(config.Under("budget", p.Budget.Validate()))
	all.Check(p.CallCost > 0 && p.CallCost <= p.Budget.Cost, "call_cost: is %g; it is the most that one call can cost, above 0 and at most budget.cost", p.CallCost)
	all.Check(p.Answers != "" || p.Grader != nil, "answers: names no file; without a file and without a grader, no answer can be graded")
	return all.Err()
}
