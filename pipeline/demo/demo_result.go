package demo

import (
	"fmt"
	"io"
	"strings"

	"pipe/internal/safetext"
	"pipe/internal/storage"
)

// Result is what the demo found. It is the JSON object of pipe demo.
type Result struct {
	Format   int      `json:"format"`
	Folder   string   `json:"folder"`
	Requests int      `json:"requests"`
	Judged   int      `json:"judged"` // of these, requests that the policy did not learn from
	Costs    []Cost   `json:"costs"`  // on those
	Verdict  []string `json:"verdict"`
	Commands []string `json:"commands"` // that do the same
	Files    []File   `json:"files"`
}

// Cost is the mean cost of a request: fees, and 1 for a wrong answer.
type Cost struct {
	Choice string  `json:"choice"`
	Cost   float64 `json:"cost"`
}

// File is a file or folder that the demo wrote.
type File struct {
	Name string `json:"name"`
	What string `json:"what"`
}

func (r *Result) commands(out storage.Location) {
	in := func(name string) string { return out.Join(name).String() }
	arg := func(name string) string { return safetext.Shell(in(name)) }
	r.Commands = []string{
		"pipe import --config " + arg(configFile) + " --out " + arg(tensorFile),
		"pipe train --in " + arg(tensorFile) + " --config " + arg(settings) + " --out " + arg(policies),
		"pipe eval --in " + arg(tensorFile) + " --policy " + arg(policies) + " --today large/docs --out " + arg(reportFiles),
	}
	r.Files = []File{
		{in(logFile), "the invented log"},
		{in(configFile), "how it is read"},
		{in(tensorFile), "the cost of each answer"},
		{in(policies) + "/" + policyFile, "the policy"},
		{in(reportFiles) + "/report.html", "the report: open it in a browser"},
	}
}

// barWidth is the length of the longest bar.
const barWidth = 40

// WriteText writes the result for a terminal.
func (r *Result) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "An invented log: %d requests, each answered by a small and a large model, with documentation (docs) and without.\n", r.Requests)
	b.WriteString("The large model costs 0.15 a call, the documentation 0.05, a wrong answer 1.\n\n")
	fmt.Fprintf(&b, "Mean cost of a request, on %d requests that the policy did not learn from:\n", r.Judged)
	most := 0.0
	for _, c := range r.Costs {
		most = max(most, c.Cost)
	}
	for _, c := range r.Costs {
		fmt.Fprintf(&b, "  %-26s %.3f %s\n", c.Choice, c.Cost, strings.Repeat("#", int(barWidth*c.Cost/most+0.5)))
	}
	for _, v := range r.Verdict {
		fmt.Fprintf(&b, "\n%s\n", safetext.Wrap(safetext.Line(v), 110))
	}
	b.WriteString("\nLambda multiplies the fees of advice: 1 takes them as they are.\n")
	b.WriteString("\nThe same, step by step:\n")
	for _, c := range r.Commands {
		fmt.Fprintf(&b, "  %s\n", safetext.Line(c))
	}
	b.WriteString("\nFiles:\n")
	for _, f := range r.Files {
		fmt.Fprintf(&b, "  %-36s %s\n", safetext.Line(f.Name), f.What)
	}
	b.WriteString("\nWith a log of your own: pipe init FILE\n")
	_, err := io.WriteString(w, b.String())
	return err
}
