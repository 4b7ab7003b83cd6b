package learn

import (
	"fmt"
	"time"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/onnx/ort"
	"pipe/pipeline/gate"
	"pipe/pipeline/stage"
)

// PromoteFile is the only Settings.Promote besides none.
const PromoteFile = "file"

// Span is a length of time, written as 30d, 12h or 2w; 0: no bound.
type Span = auto.HalfLife

// Settings are the settings of the loop: the configuration file of pipe learn.
type Settings struct {
	Log       config.Path `yaml:"log" json:"log"`             // folder of the server's log
	Deployed  config.Path `yaml:"deployed" json:"deployed"`   // the policy file that the server serves
	Candidate config.Path `yaml:"candidate" json:"candidate"` // the policy file of its candidate, which a run writes
	State     config.Path `yaml:"state" json:"-"`             // folder for what the loop remembers, and its reports

	Since       Span          `yaml:"since" json:"since"`               // age of the oldest decision; what came since the last run is always read
	NewOutcomes int           `yaml:"new_outcomes" json:"new_outcomes"` // since the last run, below which a run does nothing
	LeastRows   int           `yaml:"least_rows" json:"least_rows"`     // decisions with an outcome, below which nothing is learned
	HeldOut     float64       `yaml:"held_out" json:"held_out"`         // share of the decisions that judge
	Level       float64       `yaml:"level" json:"level"`               // of the two-sided interval of the gain, whose lower end must be above 0
	Seed        uint64        `yaml:"seed" json:"seed"`                 // of which decisions judge, and of training
	Losses      []float64     `yaml:"losses" json:"losses,omitempty"`   // the smallest and the largest possible loss; none: 0 and 1, wider if the log has others
	Money       string        `yaml:"money" json:"money,omitempty"`     // see fromlog.Options
	NoFees      bool          `yaml:"no_fees" json:"no_fees,omitempty"` // see fromlog.Options
	HalfLife    Span          `yaml:"half_life" json:"half_life"`       // age at which a training row counts half; 0: all count alike
	Auto        auto.Settings `yaml:"auto" json:"auto"`                 // of the recipe

	// Gate judges a candidate that is there by the log. Without costs there is none, and a better candidate replaces the one before.
	Gate           gate.Settings `yaml:"gate" json:"gate"`
	ReplaceRunning bool          `yaml:"replace_running" json:"replace_running"` // replace a candidate on which the gate has no verdict yet
	Promote        string        `yaml:"promote" json:"promote,omitempty"`       // PromoteFile: a run may replace the deployed file; "": it never does
}

// DefaultSettings read the whole log and hold out three tenths of it.
func DefaultSettings() Settings {
	return Settings{NewOutcomes: 1, LeastRows: 500, HeldOut: 0.3, Level: 0.95, Auto: auto.DefaultSettings()}
}

// Validate reports every problem at once.
func (s *Settings) Validate() error {
	var list config.Problems
	for _, at := range []struct {
		name   string
		path   config.Path
		policy bool
	}{{"log", s.Log, false}, {"deployed", s.Deployed, true}, {"candidate", s.Candidate, true}, {"state", s.State, false}} {
		list.Check(at.path != "", "%s: it is not given", at.name)
		if err := at.path.CheckLocal(); err != nil {
			list.Add(fmt.Errorf("%s: %w", at.name, err))
		}
		list.Check(at.path == "" || !at.policy || at.path.Location().Ext() == ".onnx", "%s: %q is no name of a policy file, which ends in .onnx", at.name, at.path)
	}
	list.Check(s.Deployed == "" || s.Deployed != s.Candidate, "candidate: it is the deployed file")
	list.Check(s.NewOutcomes >= 1, "new_outcomes: %d is not above 0", s.NewOutcomes)
	list.Check(s.LeastRows >= 1, "least_rows: %d is not above 0", s.LeastRows)
	list.Check(s.HeldOut > 0 && s.HeldOut < 1, "held_out: %v is not between 0 and 1", s.HeldOut)
	list.Check(s.Level > 0 && s.Level < 1, "level: %v is not between 0 and 1", s.Level)
	list.Check(len(s.Losses) == 0 || len(s.Losses) == 2 && s.Losses[0] < s.Losses[1], "losses: %v are not two numbers, the smaller first", s.Losses)
	list.Check(s.Promote == "" || s.Promote == PromoteFile, "promote: %q, known is %s", s.Promote, PromoteFile)
	if s.gated() {
		list.Add(config.Under("gate", s.Gate.Validate()))
	} else {
		list.Check(!s.ReplaceRunning && s.Gate.Alpha == 0, "gate.costs: they are needed for gate.alpha and replace_running")
	}
	list.Add(config.Under("auto", s.Auto.Validate()))
	return list.Err()
}

// gated reports whether a candidate is judged by the log.
func (s *Settings) gated() bool { return len(s.Gate.Costs) > 0 }

// digest is that of all settings that a result depends on.
func (s *Settings) digest() string { return stage.Digest(s) }

// Options are the options of Run.
type Options struct {
	Settings
	Config storage.Location // the file of the settings, which must not be replaced; empty: none
	DryRun bool             // do everything but write
	Now    time.Time        // of the run; zero: the clock's
	Device ort.Config

	at func(step string) // tests: is called before each step
}

// DefaultOptions are DefaultSettings, now.
func DefaultOptions() Options {
	return Options{Settings: DefaultSettings(), Device: ort.DefaultConfig()}
}

// Validate reports every problem of the options; it is a *stage.OptionError.
func (o *Options) Validate() error {
	if err := o.Settings.Validate(); err != nil {
		return &stage.OptionError{Err: err}
	}
	return nil
}

// files are what a run reads and writes. A promotion replaces the deployed file besides.
func (o *Options) files() stage.Files {
	return stage.Files{
		Reads:  stage.NamedFiles(o.Config, o.Deployed.Location()),
		Writes: []stage.Output{{Path: o.Candidate.Location()}, {Path: o.State.Location(), Patterns: []string{stateFile, reportFile, pageFile, gainFile, logFile, previousFile}}},
	}
}

// The files in the folder of the state.
const (
	stateFile    = "state.json"
	reportFile   = "learn.json"    // of the last run that looked at the log
	pageFile     = "learn.html"    // the same as a page
	logFile      = "log.html"      // what the log can tell
	gainFile     = "gain.html"     // the gain of the last policy that was learned
	previousFile = "previous.onnx" // the deployed policy before the last promotion
	workFolder   = "work"
)

func (o *Options) in(name string) storage.Location { return o.State.Location().Join(name) }

func (o *Options) step(format string, args ...any) {
	if o.at != nil {
		o.at(fmt.Sprintf(format, args...))
	}
}
