package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/cli"
	"pipe/internal/storage"
	"pipe/pipeline/compare"
)

const reportText = `Report compares the reports of two runs of pipe eval or pipe bench: what each recommends and what that saves, the true loss
of every method, what every pair loses and spends, calibration, and the settings that differ. Each argument is a report.json
or a folder that has one.

A and B are often last month's policy and this month's, or the report before and after rows were appended. If both are about
the same outcomes, the comparison says so.`

const reportExamples = `  pipe report report-may report-june
  pipe report report-may report-june --out comparison
  pipe report old/report.json new/report.json --json`

func reportCommand(a *app) *cobra.Command {
	var out storage.Location
	c := &cobra.Command{
		Use:     "report A B",
		Short:   "Compare two reports",
		Long:    reportText,
		Example: reportExamples,
		RunE:    func(c *cobra.Command, args []string) error { return runReport(c, a, args, out) },
	}
	cli.LocationVarP(c.Flags(), &out, "out", "o", "folder for comparison.html and comparison.json (default: print it only)")
	return c
}

func runReport(c *cobra.Command, a *app, reports []string, out storage.Location) error {
	if len(reports) != 2 {
		return usage(c, "needs two reports, got %d arguments", len(reports))
	}
	both := cli.Locations(reports)
	r, err := compare.Files(c.Context(), both[0], both[1], out)
	if err != nil {
		return err
	}
	if !out.IsZero() {
		a.Say("comparison in %s", out.Join("comparison.html"))
	}
	return a.Print(r)
}
