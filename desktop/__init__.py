"""The Qt side: tray, windows, notifications."""
