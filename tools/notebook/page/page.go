// Package page reads what a page of docs/ has its reader do: save files, and run commands that print something.
package page

import (
	"fmt"
	"regexp"
	"strings"
)

// Part is one of three things.
type Part struct {
	Text     string    // Markdown
	File     string    // the name of a file that the reader saves
	Content  string    // of that file
	Commands []Command // of one console
}

// Command is a line of a console, and the lines that the page shows below it. A line of three dots stands for any lines.
type Command struct {
	Text   string
	Prints []string
}

var (
	fenced = regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$\n?")
	saved  = regexp.MustCompile("(?s)[Ss]ave (?:this|these|it) as `([^`]+)`:\n+$")
)

// Parse divides a page. A block of the language console has commands. Any other block with a language is a file, whose name
// must be in the sentence before: Save this as `NAME`. A block without a language is text.
func Parse(markdown string) ([]Part, error) {
	var parts []Part
	text := func(s string) {
		if strings.TrimSpace(s) != "" {
			parts = append(parts, Part{Text: strings.Trim(s, "\n")})
		}
	}
	from := 0
	for _, at := range fenced.FindAllStringSubmatchIndex(markdown, -1) {
		before, kind, body := markdown[from:at[0]], markdown[at[2]:at[3]], markdown[at[4]:at[5]]
		text(before)
		from = at[1]
		if kind == "console" {
			commands, err := console(body)
			if err != nil {
				return nil, err
			}
			parts = append(parts, Part{Commands: commands})
			continue
		}
		name := saved.FindStringSubmatch(before)
		if name == nil {
			return nil, fmt.Errorf("nothing says how to save this block:\n%s", body)
		}
		parts = append(parts, Part{File: name[1], Content: body})
	}
	text(markdown[from:])
	return parts, nil
}

func console(body string) (list []Command, err error) {
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, " \n")
		text, isCommand := strings.CutPrefix(line, "$ ")
		switch {
		case isCommand:
			list = append(list, Command{Text: text})
		case len(list) == 0:
			return nil, fmt.Errorf("output before any command: %s", line)
		default:
			last := &list[len(list)-1]
			last.Prints = append(last.Prints, line)
		}
	}
	return list, nil
}
