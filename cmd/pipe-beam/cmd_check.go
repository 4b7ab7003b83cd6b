package main

import (
	"github.com/spf13/cobra"

	"pipe/cmd/pipe-beam/job"
)

const checkText = `Check runs shards that do nothing. It shows that the runner takes jobs, that its workers start this program, and that they and
this program reach the work folder, before a long job depends on it.`

func checkCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "check --work DIR|URL --shards N", Short: "Try a runner and a work folder with empty shards", Long: checkText, Args: noArgs,
		Example: "  pipe-beam check --work s3://data/try --shards 40 --runner flink --endpoint flink:8099",
		RunE: func(c *cobra.Command, _ []string) error {
			if err := required(c, "work"); err != nil {
				return err
			}
			if err := a.cut(c, a.work.Work); err != nil {
				return err
			}
			return a.run(c, []string{"check"}, job.Check{Shards: a.shards})
		},
	}
}
