module github.com/signalbox/signalbox-go

go 1.23
