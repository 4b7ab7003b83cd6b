package bench

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"pipe/internal/storage"
	"pipe/models/auto"
	"pipe/pipeline/report"
)

// trials runs all settings on one draw of the split and writes its report; make builds the trial of a setting. The name
// of a setting may be empty if it is the only one.
func (b *benchRun) trials(ctx context.Context, draw int, settings []string, make func(setting int, folder string) *trial) (*report.Report, error) {
	folder := b.splitFolder(draw)
	whole := &report.Report{Format: report.Format, Benchmark: b.name, Title: fmt.Sprintf("%s, split %d", b.title, draw), Settings: map[string]string{}}
	for i, name := range settings {
		part, err := make(i, folder).run(ctx)
		if err != nil && name != "" {
			err = fmt.Errorf("setting %s: %w", name, err)
		}
		if err != nil {
			return nil, err
		}
		whole.Join(name, part)
		whole.StandIn = cmp.Or(whole.StandIn, part.StandIn)
		whole.Latency, whole.Skipped = part.Latency, part.Skipped
		for key, value := range part.Settings {
			if name != "" {
				key = name + ": " + key
			}
			whole.Settings[key] = value
		}
		for _, n := range part.Notes {
			whole.Notes = append(whole.Notes, ofSetting(name)+n)
		}
	}
	return whole, report.Write(ctx, storage.File(folder), whole)
}

// ofSetting is the beginning of a note on a setting with a name.
func ofSetting(name string) string {
	if name == "" {
		return ""
	}
	return "Setting " + name + ": "
}

// draws runs every draw of the split and averages their reports; split runs one.
func (b *benchRun) draws(n int, split func(draw int) (*report.Report, error)) (*report.Report, error) {
	var splits []*report.Report
	for draw := range n {
		report, err := split(draw)
		if err != nil {
			return nil, fmt.Errorf("split %d: %w", draw, err)
		}
		splits = append(splits, report)
	}
	whole := averageReports(splits)
	whole.Title = b.title
	whole.Notes = append(whole.Notes, fallbackNotes(splits)...)
	return whole, nil
}

// fallbackNotes state, per setting, in how many splits the guard of auto exported the constant.
func fallbackNotes(splits []*report.Report) []string {
	counts := map[report.RowKey]int{}
	for _, r := range splits {
		for _, row := range r.Rows {
			if len(row.Fallback) > 0 {
				counts[row.Key()]++
			}
		}
	}
	var notes []string
	for _, name := range splits[0].SettingNames() {
		var parts []string
		for _, row := range splits[0].Rows {
			if row.Method == auto.Name && row.Setting == name {
				parts = append(parts, fmt.Sprintf("%d at lambda %s", counts[row.Key()], report.Number(row.Lambda)))
			}
		}
		if len(parts) > 0 {
			notes = append(notes, fmt.Sprintf("%sOf %d splits, those in which the guard of auto exported the best constant: %s.",
				ofSetting(name), len(splits), strings.Join(parts, ", ")))
		}
	}
	return notes
}
